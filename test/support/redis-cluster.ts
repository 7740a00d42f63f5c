/**
 * A Redis Cluster of real redis-servers on loopback: three masters with a replica each, behind a password, with an
 * append-only file. With TLS, clients come in clear or over TLS, and the servers talk to each other over TLS.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { slotOf, slotsTotal } from '../../core/redis/slots.ts';
import { TestAuthority } from './certificates.ts';
import { freePorts } from './ports.ts';
import { until } from './until.ts';

const password = 'of-the-cluster';
const mastersTotal = 3;

/** From slot, to slot, then nodes: the master first. */
type Range = readonly [number, number, ...(readonly [string, number])[]];

export class ClusterServer {
  readonly port: number;
  /** 0: none. */
  readonly tlsPort: number;
  /** In clear, to this server alone. */
  readonly client: Redis;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #gone = Promise.resolve();

  constructor(port: number, tlsPort: number, args: readonly string[]) {
    this.port = port;
    this.tlsPort = tlsPort;
    this.#args = args;
    this.client = new Redis({ port, password, retryStrategy: () => 50, enableReadyCheck: false, lazyConnect: true });
    this.client.on('error', () => undefined);
  }

  /** The one that other servers use. */
  get innerPort(): number {
    return this.tlsPort || this.port;
  }

  start(): void {
    const child = spawn('redis-server', this.#args, { stdio: 'ignore' });
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      child.once('exit', resolve);
      child.once('error', resolve);
    }).then(() => {
      this.#child = undefined;
    });
  }

  /** Resolves when it answers. Rejects when it has ended: another program may have taken a port of its. */
  async answers(): Promise<void> {
    const ended = this.#gone.then(() => {
      throw new Error(`the redis-server on port ${this.port} has ended`);
    });
    await Promise.race([ended, until(() => this.client.ping(), 'a redis-server')]);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#gone;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name);
  }

  killWithUs(): void {
    this.#child?.kill('SIGKILL');
  }

  async isMaster(): Promise<boolean> {
    return (await this.client.info('replication')).includes('role:master');
  }

  async id(): Promise<string> {
    return String(await this.client.cluster('MYID'));
  }
}

/** A classic migration of a slot that has begun: its keys may lie on either server. */
export interface SlotMove {
  readonly source: ClusterServer;
  readonly destination: ClusterServer;
  /** Resolves to whether there were any left. */
  moveKeys(count: number): Promise<boolean>;
  /** Moves the rest, and ends it. */
  finish(): Promise<void>;
}

export class TestRedisCluster {
  readonly servers: readonly ClusterServer[];
  /** Of the certificates of all servers; empty without TLS. */
  readonly caFile: string;
  readonly #directory: string;
  readonly #killWithUs = (): void => {
    for (const server of this.servers) server.killWithUs();
  };

  constructor(servers: readonly ClusterServer[], directory: string, caFile: string) {
    this.servers = servers;
    this.#directory = directory;
    this.caFile = caFile;
    process.once('exit', this.#killWithUs);
  }

  /** Two of its nodes, with the password. */
  get url(): string {
    const [first, second] = this.servers;
    return `redis://:${password}@127.0.0.1:${first!.port},127.0.0.1:${second!.port}`;
  }

  get tlsUrl(): string {
    const [first, second] = this.servers;
    return `rediss://:${password}@127.0.0.1:${first!.tlsPort},127.0.0.1:${second!.tlsPort}`;
  }

  async masters(): Promise<readonly ClusterServer[]> {
    const roles = await Promise.all(this.servers.map((server) => server.isMaster().catch(() => false)));
    return this.servers.filter((_, index) => roles[index]);
  }

  /** The master of the key's slot, and a replica of it. */
  async ownerOf(key: string): Promise<{ readonly master: ClusterServer; readonly replica: ClusterServer }> {
    const slot = slotOf(key);
    const ranges = (await this.servers[0]!.client.cluster('SLOTS')) as unknown as readonly Range[];
    const range = ranges.find(([from, to]) => from <= slot && slot <= to)!;
    const [master, replica] = range.slice(2).map((node) => {
      const port = (node as readonly [string, number])[1];
      return this.servers.find((server) => server.port === port)!;
    });
    return { master: master!, replica: replica! };
  }

  /** Begins to move the slot of `key` to the master of another key's. */
  async beginMove(key: string, to: string): Promise<SlotMove> {
    const slot = slotOf(key);
    const { master: source } = await this.ownerOf(key);
    const { master: destination } = await this.ownerOf(to);
    await destination.client.cluster('SETSLOT', slot, 'IMPORTING', await source.id());
    await source.client.cluster('SETSLOT', slot, 'MIGRATING', await destination.id());
    const place = ['127.0.0.1', String(destination.innerPort), '', '0', '5000', 'AUTH', password, 'KEYS'];
    const moveKeys = async (count: number) => {
      const keys = (await source.client.cluster('GETKEYSINSLOT', slot, count)) as string[];
      if (keys.length > 0) await source.client.call('MIGRATE', ...place, ...keys);
      return keys.length > 0;
    };
    const finish = async () => {
      while (await moveKeys(1_000));
      const id = await destination.id();
      for (const { client } of [destination, source]) await client.cluster('SETSLOT', slot, 'NODE', id);
      await until(async () => (await this.ownerOf(key)).master === destination, 'the slot at its new place');
    };
    return { source, destination, moveKeys, finish };
  }

  /** Resolves when every slot has a master and every master a replica that follows it. */
  async whole(servers = this.servers): Promise<void> {
    await until(async () => {
      const all = await Promise.all(
        servers.map(async ({ client }) => {
          const [state, role] = [String(await client.cluster('INFO')), await client.info('replication')];
          const follows = role.includes('role:master')
            ? /connected_slaves:[1-9]/.test(role)
            : role.includes('master_link_status:up');
          const ranges = (await client.cluster('SLOTS')) as unknown as readonly Range[];
          return state.includes('cluster_state:ok') && follows && ranges.every((range) => range.length >= 4);
        }),
      ).catch(() => [false]);
      return all.every(Boolean);
    }, 'a Redis Cluster that is whole');
  }

  async stop(): Promise<void> {
    process.off('exit', this.#killWithUs);
    for (const { client } of this.servers) client.disconnect();
    await Promise.all(this.servers.map((server) => server.kill()));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export async function startRedisCluster({ tls: isTls = false } = {}): Promise<TestRedisCluster> {
  // Another program may take a free port before a server does: then other ports are tried.
  for (let attempt = 1; ; attempt += 1) {
    const cluster = await prepare(isTls);
    try {
      for (const server of cluster.servers) server.start();
      await Promise.all(cluster.servers.map((server) => server.answers()));
      await meet(cluster.servers);
      await cluster.whole();
      return cluster;
    } catch (error) {
      await cluster.stop();
      if (attempt === 3) throw error;
    }
  }
}

async function prepare(isTls: boolean): Promise<TestRedisCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'signmesh-redis-cluster-'));
  const tls = isTls ? certificates(directory) : { caFile: '', args: [] };
  const total = 2 * mastersTotal;
  const ports = await freePorts(3 * total);
  const servers = Array.from({ length: total }, (_, index) => {
    const [port = 0, busPort = 0, furtherPort = 0] = ports.slice(3 * index);
    const tlsPort = isTls ? furtherPort : 0;
    const folder = join(directory, String(index));
    mkdirSync(folder);
    return new ClusterServer(port, tlsPort, [
      ...['--bind', '127.0.0.1', '--port', String(port), '--tls-port', String(tlsPort), '--dir', folder],
      ...['--requirepass', password, '--masterauth', password, '--save', '', '--appendonly', 'yes'],
      ...['--appendfsync', 'no', '--repl-diskless-sync-delay', '0'],
      ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '2000'],
      ...tls.args,
    ]);
  });
  return new TestRedisCluster(servers, directory, tls.caFile);
}

async function meet(servers: readonly ClusterServer[]): Promise<void> {
  const [first] = servers;
  await Promise.all(servers.map(({ client }, index) => client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))));
  const share = Math.ceil(slotsTotal / mastersTotal);
  const masters = servers.slice(0, mastersTotal);
  await Promise.all(
    masters.map(({ client }, index) => {
      const last = Math.min(slotsTotal, (index + 1) * share) - 1;
      return client.call('CLUSTER', 'ADDSLOTSRANGE', String(index * share), String(last));
    }),
  );
  for (const { innerPort, client } of servers.slice(1)) {
    const busPort = (await client.config('GET', 'cluster-port')) as string[];
    await first!.client.call('CLUSTER', 'MEET', '127.0.0.1', String(innerPort), busPort[1]!);
  }
  // A server gives up a handshake after its node timeout, and does not repeat it: a longer wait would not help.
  await Promise.all(
    servers.map(({ client }) =>
      until(async () => {
        const info = String(await client.cluster('INFO'));
        return info.includes(`cluster_known_nodes:${servers.length}`) && info.includes('cluster_state:ok');
      }, 'nodes that know each other'),
    ),
  );
  await Promise.all(
    servers.slice(mastersTotal).map(async ({ client }, index) => {
      const id = await masters[index]!.id();
      await until(() => client.call('CLUSTER', 'REPLICATE', id), 'a replica');
    }),
  );
}

/** A certificate for 127.0.0.1, signed by a CA of its own. */
function certificates(directory: string): { readonly caFile: string; readonly args: readonly string[] } {
  const at = (name: string) => join(directory, name);
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ hosts: ['127.0.0.1'], usage: ['server', 'client'] });
  writeFileSync(at('ca.crt'), authority.ca);
  writeFileSync(at('tls.crt'), cert);
  writeFileSync(at('tls.key'), key);
  const modes = ['--tls-cluster', 'yes', '--tls-replication', 'yes', '--tls-auth-clients', 'no'];
  const files = ['--tls-cert-file', at('tls.crt'), '--tls-key-file', at('tls.key'), '--tls-ca-cert-file', at('ca.crt')];
  return { caFile: at('ca.crt'), args: [...modes, ...files] };
}
