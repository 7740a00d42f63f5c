/** Roles and commands over a Redis that refuses or is slow: one line names it, nothing dies of it, and what heals continues. */

import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { environmentOf, UpProcess } from '../../clients/testing/up-process.ts';
import { allGone } from '../support/alive.ts';
import { parseRecords } from '../support/cluster.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { RestClient } from '../support/rest.ts';
import { startSlowProxy } from '../support/slow-proxy.ts';
import { isThorough, runs } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './support/temporary.ts';
import { root } from './support/up-process.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

async function redisWith(...settings: string[]): Promise<TestRedis> {
  const server = await startRedis(undefined, settings);
  onTestFinished(() => server.stop());
  return server;
}

function newCluster(): string {
  const dataDir = temporaryFolder();
  const { status, stderr } = spawnSync(process.execPath, [main, 'init', '--data-dir', dataDir], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return dataDir;
}

interface Command {
  output: string;
  exitCode: number | null | undefined;
}

async function start(dataDir: string, redisUrl: string, args: readonly string[]): Promise<Command> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: root,
    env: {
      ...environmentOf({ dataDir }),
      REDIS_URL: redisUrl,
      SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const command: Command = { output: '', exitCode: undefined };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      command.output += text;
    });
  }
  child.on('exit', (code) => {
    command.exitCode = code;
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return command;
}

const warnings = ({ output }: Command) =>
  parseRecords(output).filter(({ event, level }) => event === 'redis.refuses' && level === 40);

// In one process: test/core/actors/redis-watch.test.ts and test/gateway/gateway-process.test.ts.
test.runIf(isThorough)(
  'a role names a Redis that refuses it in one line, stays, and continues when it is healed',
  async () => {
    const server = await redisWith('--maxmemory', '1');
    const dataDir = newCluster();
    const roles = ['coordinator', 'gateway', 'worker'];
    const started = await Promise.all(roles.map((role) => start(dataDir, server.url, [role])));
    for (const [index, role] of roles.entries()) {
      const said = () => warnings(started[index]!).length > 0;
      await until(said, `${role} names Redis`);
    }
    const operator = new Redis(server.url);
    onTestFinished(() => operator.disconnect());
    // Asked many times meanwhile.
    const asked = Number(/total_commands_processed:(\d+)/.exec(await operator.info('stats'))?.[1]);
    const more = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await operator.info('stats'))?.[1]) > asked + 100;
    await until(more, 'more attempts');
    for (const [index, role] of roles.entries()) {
      const command = started[index]!;
      expect(warnings(command), role).toHaveLength(1);
      expect(warnings(command)[0]!.msg).toMatch(/^Redis at 127\.0\.0\.1:\d+ refuses writes: .*maxmemory.*\(OOM\)/);
      expect(command.output).not.toMatch(/^ {4}at /m);
      expect(command.exitCode).toBe(undefined);
    }
    await operator.config('SET', 'maxmemory', '0');
    const [coordinator, gateway, worker] = started as [Command, Command, Command];
    await until(() => coordinator.output.includes('coordinator started'), 'the coordinator starts');
    await until(() => gateway.output.includes('tokens are registered'), 'the gateway registers');
    await until(() => worker.output.includes('takes writes'), 'the worker is told');
  },
);

test('a command ends with one line that names it', async () => {
  const server = await redisWith('--requirepass', 'another');
  const dataDir = newCluster();
  const url = server.url.replace('//', '//:secret@');
  const all = [['up'], ['tokens', 'list', '--tenant', 't'], ['credentials', 'rewrap']];
  const commands = all.slice(0, runs(1, all.length));
  const started = await Promise.all(commands.map((args) => start(dataDir, url, args)));
  for (const [index, args] of commands.entries()) {
    const command = started[index]!;
    await until(() => command.exitCode !== undefined, `${args[0]} ends`);
    expect(command.exitCode).toBe(1);
    const lines = command.output.trim().split('\n');
    // Steps of the start that are done, or take long, have lines of their own.
    expect(lines.filter((line) => !/^[✓…]/.test(line))).toEqual([
      expect.stringMatching(/^signmesh: Redis at 127\.0\.0\.1:\d+ refuses the user or the password: .*WRONGPASS/),
    ]);
  }
});

test.runIf(isThorough)(
  'a slow start gives the right sandbox: up waits until its token is registered, and says so',
  async () => {
    const server = await redisWith();
    // Slower than a gateway waits for an answer.
    const proxy = await startSlowProxy(server.port, 1_200);
    onTestFinished(() => proxy.stop());
    const dataDir = temporaryFolder();
    const settings = {
      REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
      SIGNMESH_NODES: '3',
      SIGNMESH_NODES_PER_PROCESS: '3',
    };
    const up = new UpProcess({ dataDir }, { environment: settings });
    onTestFinished(() => void up.child.kill('SIGKILL'));
    await until(() => /tokens are not registered yet/.test(up.output), 'up names what it waits for');
    expect(up.stdout).toBe('');
    proxy.delayMs = 0;
    const ready = await up.ready();
    expect((await new RestClient(ready.http, ready.token).get('/v1/sandbox/nodes')).status).toBe(200);
    expect(ready.keys.map(({ wallet_id }) => wallet_id)).toEqual([
      'sandbox-secp256k1',
      'sandbox-ed25519',
      'sandbox-bip340',
    ]);
    const redis = new Redis(server.url);
    onTestFinished(() => redis.disconnect());
    const tenants = await redis.keys('sm:{t:*');
    expect(new Set(tenants.map((key) => /\{t:([^}]+)\}/.exec(key)?.[1]))).toEqual(new Set(['tn_sandbox']));
    up.child.kill('SIGTERM');
    await up.exited;
    await allGone(ready.pids);
  },
);
