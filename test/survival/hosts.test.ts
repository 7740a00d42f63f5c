/**
 * A deployment on separate hosts: each loopback address is one, with no file but those that docs/deployment.md gives it.
 * Links, doors and Redis are over TLS. One host after another is killed, with all its processes at once; the rest continues as the page
 * says, and the host comes back.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ensureCertificates, issueFor } from '../../cli/cluster-files/certificates.ts';
import { ensureClusters } from '../../cli/cluster-files/clusters.ts';
import { ensureSandbox } from '../../cli/cluster-files/sandbox.ts';
import { keptFolder } from '../cli/support/temporary.ts';
import { nodeWaits } from '../support/busy-machine.ts';
import { CallFailed, httpApi } from '../support/client.ts';
import { parseRecords } from '../support/cluster.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { finishSigning, type Key, makeKey, openSigning } from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const folder = keptFolder();
const mesh = join(folder, 'mesh');
const digest = new Uint8Array(32).fill(0x5a);
const ledger = new Ledger();
const common = ['cluster.json', 'join.secret', 'ca.crt', 'sandbox.json'];
let ports: { coordinator: number; http: number; grpc: number };
let token = '';
let redis: TestRedis;
let redisUrl = '';
let key: Key;
let dispatcher: ReturnType<typeof getGlobalDispatcher>;

/** One host: its address, its files, its processes. */
class Host {
  readonly #dataDir: string;
  readonly #roles: readonly (readonly string[])[];
  readonly #environment: Readonly<Record<string, string>>;
  #children: ChildProcess[] = [];
  output = '';

  constructor(name: string, parts: readonly string[], roles: readonly (readonly string[])[], environment = {}) {
    this.#dataDir = join(folder, name);
    this.#roles = roles;
    this.#environment = environment;
    for (const part of parts) {
      mkdirSync(dirname(join(this.#dataDir, part)), { recursive: true });
      cpSync(join(mesh, part), join(this.#dataDir, part), { recursive: true });
    }
  }

  start(): this {
    const { PATH, HOME } = process.env;
    const env = {
      ...{ PATH, HOME, SIGNMESH_DATA_DIR: this.#dataDir, ...nodeWaits(1_000, 2_000) },
      ...{ REDIS_URL: redisUrl, NODE_EXTRA_CA_CERTS: join(mesh, 'ca.crt') },
      SIGNMESH_COORDINATOR_URL: `wss://127.0.0.2:${ports.coordinator}`,
      ...this.#environment,
    };
    this.#children = this.#roles.map((words) => {
      const child = spawn(process.execPath, [main, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (this.output += String(data)));
      return child;
    });
    return this;
  }

  /** All its processes at once, as when the power fails. */
  async kill(): Promise<void> {
    const gone = this.#children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#children) if (child.exitCode === null) child.kill('SIGKILL');
    if (this.#children.some(({ exitCode, signalCode }) => exitCode !== null && signalCode === null)) return;
    await Promise.all(gone);
    this.#children = [];
  }

  said(message: string): boolean {
    return parseRecords(this.output).some(({ msg, event }) => msg === message || event === message);
  }
}

const hosts: Record<'coordinator' | 'nodesA' | 'nodesB' | 'front' | 'back', Host> = {} as never;
const door = (host: string) => httpApi({ baseUrl: `https://${host}:${ports.http}`, token });
const client = (host: string) => ({ api: door(host), ledger });
const health = async (host: string) =>
  (await (await fetch(`https://${host}:${ports.http}/v1/health`)).json()) as { status: string; nodes_ready: number };
const sign = async (host: string, intentId: string) => {
  const session = await openSigning(client(host), { key, scheme: 'ed25519', intentId, message: digest });
  await finishSigning(client(host), session);
};

beforeAll(async () => {
  const rosters = ensureClusters(mesh, {
    clusters: 1,
    nodes: 3,
    nodesDefault: 3,
    threshold: 2,
    environment: 'sandbox',
  });
  ensureCertificates(mesh, rosters, new Date());
  token = ensureSandbox(mesh, 'random', [1, 2, 3]).token;
  const leaf = (hosts: string[]) => ({ title: 'test', hosts, usage: ['server'] }) as const;
  issueFor(mesh, join(folder, 'redis'), leaf(['127.0.0.1']), new Date());
  issueFor(mesh, join(folder, 'door'), leaf(['127.0.0.4', '127.0.0.5']), new Date());
  ports = { coordinator: await freePort(), http: await freePort(), grpc: await freePort() };
  const tlsPort = await freePort();
  const file = (name: string) => join(folder, name);
  redis = await startRedis(undefined, [
    ...['--port', '0', '--tls-port', String(tlsPort), '--requirepass', 'secret', '--tls-auth-clients', 'no'],
    ...[
      '--tls-cert-file',
      file('redis.crt'),
      '--tls-key-file',
      file('redis.key'),
      '--tls-ca-cert-file',
      join(mesh, 'ca.crt'),
    ],
  ]);
  redisUrl = `rediss://:secret@127.0.0.1:${tlsPort}`;
  dispatcher = getGlobalDispatcher();
  setGlobalDispatcher(new Agent({ connect: { ca: readFileSync(join(mesh, 'ca.crt'), 'utf8') } }));

  const listens = { SIGNMESH_COORDINATOR_HOST: '127.0.0.2', SIGNMESH_COORDINATOR_PORT: String(ports.coordinator) };
  const gateway = (address: string) => ({
    ...{ SIGNMESH_HTTP_HOST: address, SIGNMESH_HTTP_PORT: String(ports.http) },
    ...{ SIGNMESH_GRPC_HOST: address, SIGNMESH_GRPC_PORT: String(ports.grpc) },
    ...{ SIGNMESH_TLS_CERT: file('door.crt'), SIGNMESH_TLS_KEY: file('door.key') },
  });
  hosts.coordinator = new Host('h2', [...common, 'coordinator'], [['coordinator']], listens);
  hosts.nodesA = new Host('h3a', [...common, 'node-1'], [['node', '1']]);
  hosts.nodesB = new Host('h3b', [...common, 'node-2', 'node-3'], [['node', '2', '3']]);
  hosts.front = new Host('h4', [...common, 'gateway'], [['gateway'], ['worker']], gateway('127.0.0.4'));
  hosts.back = new Host('h5', [...common, 'gateway'], [['gateway']], gateway('127.0.0.5'));
  for (const host of Object.values(hosts)) host.start();
  for (const address of ['127.0.0.4', '127.0.0.5']) {
    await until(
      async () => (await health(address)).status === 'ok',
      () =>
        `${address}: ${Object.values(hosts)
          .map(({ output }) => output)
          .join('\n')}`,
    );
  }
  key = await makeKey(client('127.0.0.4'), { sessionId: 'hosts', curve: 'ed25519', threshold: 2, totalNodes: 3 });
});
afterAll(async () => {
  await Promise.all(Object.values(hosts).map((host) => host.kill()));
  await redis?.stop();
  if (dispatcher) setGlobalDispatcher(dispatcher);
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => expect(ledger.violations).toEqual([]));

describe.sequential('a deployment on separate hosts', () => {
  test('signs through either gateway, and its worker leaves word in the Redis that takes TLS alone', async () => {
    await sign('127.0.0.4', 'first');
    await sign('127.0.0.5', 'second');
    await until(
      () => hosts.front.said('worker started'),
      () => hosts.front.output,
    );
    const plain = new Redis(redisUrl.replace('rediss', 'redis'), {
      lazyConnect: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    });
    plain.on('error', () => undefined);
    await expect(plain.connect()).rejects.toThrow();
    expect(Object.values(hosts).filter((host) => host.said('transport.plain'))).toEqual([]);
  });

  // One host of each kind dies in a thorough run; the single processes die in the other files of this folder
  // (the coordinator: coordinator-killed.test.ts).
  test.runIf(isThorough)(
    'without the host of a gateway and the worker, the other gateway serves every call',
    async () => {
      await hosts.front.kill();
      await sign('127.0.0.5', 'front-is-gone');
      await expect(health('127.0.0.4')).rejects.toThrow();
      hosts.front.start();
      await until(
        async () => (await health('127.0.0.4')).status === 'ok',
        () => hosts.front.output,
      );
      await sign('127.0.0.4', 'front-is-back');
    },
  );

  test.runIf(isThorough)('without the host of one node, the others sign, and it takes part again', async () => {
    await hosts.nodesA.kill();
    await until(async () => (await health('127.0.0.4')).nodes_ready === 2, 'the coordinator knows');
    await sign('127.0.0.4', 'node-is-gone');
    hosts.nodesA.start();
    await until(
      async () => (await health('127.0.0.4')).nodes_ready === 3,
      () => hosts.nodesA.output,
    );
  });

  test.runIf(isThorough)(
    'without the host of too many nodes, a session says so and can be resumed when it is back',
    async () => {
      await hosts.nodesB.kill();
      await until(async () => (await health('127.0.0.4')).nodes_ready === 1, 'the coordinator knows');
      const session = await openSigning(client('127.0.0.4'), {
        key,
        scheme: 'ed25519',
        intentId: 'too-few',
        message: digest,
      });
      const answer = await ledger.ask(session, () =>
        door('127.0.0.4').submitSignatureShare({ signingSessionId: session }),
      );
      expect(answer.receipt).toMatchObject({ reasonCode: 'QUORUM_UNAVAILABLE', resumable: true });
      expect(answer.checkpoint?.resumeToken).not.toBe('');
      hosts.nodesB.start();
      await until(
        async () => (await health('127.0.0.4')).nodes_ready === 3,
        () => hosts.nodesB.output,
      );
      await finishSigning(client('127.0.0.5'), session);
    },
  );

  test.runIf(isThorough)(
    'without the host of the coordinator both gateways answer 503, and go on with every key when it is back',
    async () => {
      await hosts.coordinator.kill();
      for (const address of ['127.0.0.4', '127.0.0.5']) {
        await until(async () => (await health(address)).status !== 'ok', 'the gateway knows');
        const failed = await door(address)
          .initiateSigning({})
          .catch((error: unknown) => error);
        expect(failed).toBeInstanceOf(CallFailed);
        expect(failed).toMatchObject({ status: 503 });
      }
      hosts.coordinator.start();
      await until(
        async () => (await health('127.0.0.4')).nodes_ready === 3,
        () => hosts.coordinator.output,
      );
      await sign('127.0.0.4', 'coordinator-is-back');
    },
  );
});
