/** Whole clusters whose ports other programs take while a process is down. */

import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readRecord } from '../../cli/common/process-records.ts';
import type { ReadyLine } from '../../clients/testing/ready-line.ts';
import { UpProcess } from '../../clients/testing/up-process.ts';
import { httpApi } from '../support/client.ts';
import { TestCluster } from '../support/cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './support/temporary.ts';

const small = { SIGNMESH_NODES: '3', SIGNMESH_NODES_PER_PROCESS: '3', SIGNMESH_RATE_LIMIT: 'off' };

/** Binds as soon as the port is free. */
async function take(port: number): Promise<Server> {
  return until(
    () =>
      new Promise<Server | undefined>((resolve) => {
        const server = createServer((socket) => socket.destroy());
        server.once('error', () => resolve(undefined));
        server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(server));
      }),
    `port ${port}`,
    1,
  ).then((server) => {
    onTestFinished(() => void server.close());
    return server;
  });
}

async function start(environment: NodeJS.ProcessEnv) {
  const dataDir = temporaryFolder();
  const up = new UpProcess({ dataDir }, { environment: { ...small, ...environment } });
  onTestFinished(async () => {
    up.child.kill('SIGTERM');
    await up.exited;
  });
  const ready = await up.ready();
  const pid = (name: string) => readRecord(join(dataDir, 'run', `${name}.pid`))?.pid ?? 0;
  const cluster = TestCluster.attach({ place: { dataDir }, ready, options: { nodes: 3 } });
  const redisPort = () => {
    const [, port] = /^port (\d+)$/m.exec(readFileSync(join(dataDir, 'redis', 'redis.conf'), 'utf8')) ?? [];
    return Number(port);
  };
  return { up, ready, pid, cluster, redisPort, coordinatorPort: () => Number(new URL(cluster.coordinatorUrl()).port) };
}

async function signs({ http, token }: ReadyLine, intent: string): Promise<boolean> {
  const api = httpApi({ baseUrl: http, token });
  const request = { walletId: 'sandbox-ed25519', messageHash: Buffer.from('hello'), transactionIntentId: intent };
  const { signingSessionId } = await api.initiateSigning(request);
  return (await api.submitSignatureShare({ signingSessionId })).isComplete;
}

const gatewayPort = ({ http }: ReadyLine) => Number(new URL(http).port);

describe('a port that another program takes', () => {
  async function losesCoordinator({ ready, pid, coordinatorPort }: Awaited<ReturnType<typeof start>>) {
    const before = coordinatorPort();
    process.kill(pid('coordinator'), 'SIGKILL');
    await take(before);
    await until(() => coordinatorPort() !== before, 'another port of the coordinator');
    await until(() => signs(ready, `after-${Math.random()}`), 'a signature');
    // It leaves the configured ones alone, and the gateway is where it was.
    expect(coordinatorPort()).not.toBe(gatewayPort(ready));
    expect((await fetch(`${ready.http}/v1/health`)).status).toBe(200);
  }

  test.runIf(isThorough)(
    'while the coordinator is down: it moves, and nodes and gateway find it through its proxy',
    async () => {
      await losesCoordinator(await start({ SIGNMESH_FAULTS: 'on' }));
    },
  );

  async function losesRedis({ ready, up, pid, redisPort }: Awaited<ReturnType<typeof start>>) {
    const before = redisPort();
    process.kill(pid('redis'), 'SIGKILL');
    await take(before);
    await until(() => redisPort() !== before, 'another port of Redis');
    await until(
      () => signs(ready, `after-${Math.random()}`),
      () => `a signature; up said:\n${up.output}`,
    );
    expect(redisPort()).not.toBe(gatewayPort(ready));
  }

  // That Redis takes another port: redis-owner.test.ts. That roles are started again for a peer that moved: the coordinator's, below.
  test.runIf(isThorough)('while Redis is down: it moves, and every role finds it', async () => {
    await losesRedis(await start({ SIGNMESH_FAULTS: 'off' }));
  });

  test('while the coordinator is down, without a proxy; and while the gateway is down, which callers know: up ends with one line, and does not start it for ever', async () => {
    const cluster = await start({ SIGNMESH_FAULTS: 'off' });
    await losesCoordinator(cluster);
    const { up, ready, pid } = cluster;
    const port = gatewayPort(ready);
    const beganMs = performance.now();
    process.kill(pid('gateway'), 'SIGKILL');
    await take(port);
    expect(await up.exited).toBe(1);
    expect(up.output.trim().split('\n').at(-1)).toMatch(
      new RegExp(
        `^signmesh: 127\\.0\\.0\\.1:${port} \\(REST\\) is taken by .+\\. Set SIGNMESH_HTTP_PORT to another one\\.$`,
      ),
    );
    // A few attempts within two seconds, at the most one per 200 ms.
    expect((up.output.match(/gateway died/g) ?? []).length).toBeLessThanOrEqual(1);
    expect(performance.now() - beganMs).toBeGreaterThan(2_000);
  });

  // Of single roles: usage.test.ts.
  test.runIf(isThorough)(
    'that a process finds taken at the start, after the check of the others: up ends with one line',
    async () => {
      const holder = await take(0);
      const { port } = holder.address() as AddressInfo;
      const environment = { ...small, SIGNMESH_METRICS_PORT: String(port) };
      const up = new UpProcess({ dataDir: temporaryFolder() }, { environment });
      expect(await up.exited).toBe(1);
      expect(up.output.trim().split('\n').at(-1)).toMatch(
        new RegExp(`^signmesh: 127\\.0\\.0\\.1:${port} \\(metrics\\) is taken by .+\\. Set SIGNMESH_METRICS_PORT`),
      );
    },
  );

  test.runIf(isThorough)('40 whole clusters side by side start, restart and sign', { timeout: 1_200_000 }, async () => {
    const clusters = await Promise.all(
      Array.from({ length: 40 }, (_, index) => start({ SIGNMESH_FAULTS: index % 2 === 0 ? 'on' : 'off' })),
    );
    for (const { pid } of clusters) for (const role of ['coordinator', 'gateway']) process.kill(pid(role), 'SIGKILL');
    await Promise.all(
      clusters.map(({ ready, up }) =>
        until(
          () => signs(ready, `again-${Math.random()}`),
          () => `a signature after the restart; up said:\n${up.output}`,
        ),
      ),
    );
    for (const { up } of clusters) expect(up.exitCode, up.output).toBeUndefined();
  });
});
