/**
 * The processes of all clusters of one `up`, as children: how each starts, and in which order they stop.
 *
 * They start at once and find each other by themselves: nodes and gateway retry until the coordinator listens. They stop from the
 * outside in, so that no client gets an outcome that was lost: the gateway accepts no more calls, the workers finish their
 * deliveries, the coordinator finishes its calls, the nodes close their stores, and last Redis writes its data to disk.
 */
import { join } from 'node:path';
import { processIn } from '../../faults/cluster-names.ts';
import { firstCluster } from '../../redis/clusters.ts';
import { builtFile } from '../common/built.ts';
import { errorText, Failure } from '../common/failure.ts';
import type { Environment } from '../settings/config.ts';
import { Progress } from '../start/progress.ts';
import type { MetricsTargets } from './metrics-targets.ts';
import { clockEnvironment, type Member, residentBytes } from './process-control.ts';
import { missingOf, signsOf } from './start-progress.ts';
import { type ChildSpec, SupervisedChild } from './supervisor.ts';

const stopGraceMs = 5000;
const progressEveryMs = 500;
/** Our variables that a child must not inherit: each role gets its own, and no other role's secret. Links stay on loopback. */
const notInherited = /^(REDIS_URL$|SIGNMESH_LINK_TLS$|SIGNMESH_TLS_|SIGNMESH_SEED$|npm_|NODE_CHANNEL_)/;

/**
 * Five nodes share a machine with other processes, so each is kept small, at no measured cost. Its objects die young or stay for
 * good: V8's default nursery, up to 48 MiB, would only keep their garbage resident, and so would an old space that doubles before
 * a collection. Its few threads need no malloc arena each.
 */
const nodeFlags = ['--max-semi-space-size=2', '--heap-growing-percent=10', '--single-threaded-gc'];
/**
 * Each thread collects its own young objects. V8 would spread that over the cores: but here more processes than cores want to
 * run, and each collection would wait until its helpers run (measured: up to seven times as long).
 */
const roleFlags = ['--no-parallel-scavenge'];
const nodeMemory = { MALLOC_ARENA_MAX: '1' };

export interface ClusterOptions {
  readonly dataDir: string;
  /** By number, from 1. */
  readonly clusters: readonly OneCluster[];
  /** Nodes of a cluster that share a process. */
  readonly nodesPerProcess: number;
  readonly gateways: number;
  readonly workers: number;
  /** Of the first gateway; the next one's ports follow. */
  readonly httpPort: number;
  readonly grpcPort: number;
  /** The listening address of the first gateway, if it differs from its callers' address. */
  readonly gatewayListens: Environment;
  readonly redisUrl: string;
  /** undefined: `up` does not start this Redis. */
  readonly redis: ChildSpec | undefined;
  readonly environment: Environment;
  readonly metrics: MetricsTargets;
  /** Only for the nodes. */
  readonly nodeEnvironment: Environment;
  /** Whether the nodes accept client-supplied dealers. */
  readonly clientDealers: boolean;
  /** `isNews`: false for lines that only `--verbose` shows. */
  readonly say: (line: string, isNews?: boolean) => void;
}

export interface OneCluster {
  readonly number: number;
  readonly nodes: number;
  readonly coordinatorPort: number;
  /** The address of the coordinator for nodes and gateways: its own, or its proxy's. */
  readonly coordinatorUrl: string;
}

export class Cluster {
  readonly #options: ClusterOptions;
  readonly #redis: readonly Member[];
  readonly #coordinators: readonly Member[];
  readonly #nodes: readonly Member[];
  readonly #gateways: readonly Member[];
  readonly #workers: readonly Member[];
  #stopped: Promise<void> | undefined;
  /** The clock offset of a process, by its name in faults; read at each of its starts. */
  readonly clocks = new Map<string, number>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    const { redisUrl, clusters, nodesPerProcess, say, metrics } = options;
    const role = (
      name: string,
      processes: readonly string[],
      args: readonly string[],
      extra: Environment,
      flags: readonly string[] = roleFlags,
    ) => ({
      child: new SupervisedChild(this.#role(name, processes, args, { ...extra, ...metrics.next(name) }, flags), say),
      processes,
    });
    this.#redis = options.redis ? [{ child: new SupervisedChild(options.redis, say), processes: ['redis'] }] : [];
    this.#coordinators = clusters.map(({ number, coordinatorPort, coordinatorUrl }) =>
      role(childName('coordinator', number), [processIn(number, 'coordinator')], ['coordinator'], {
        REDIS_URL: redisUrl,
        SIGNMESH_CLUSTER: String(number),
        SIGNMESH_COORDINATOR_HOST: '127.0.0.1',
        SIGNMESH_COORDINATOR_PORT: String(coordinatorPort),
        SIGNMESH_COORDINATOR_URL: coordinatorUrl,
      }),
    );
    this.#nodes = clusters.flatMap(({ number, nodes, coordinatorUrl }) =>
      groupsOf(nodes, nodesPerProcess).map((ids) => {
        const name = ids.length === 1 ? `node-${ids[0]}` : `nodes-${ids[0]}-${ids.at(-1)}`;
        const processes = ids.map((id) => processIn(number, `node/${id}`));
        return role(
          childName(name, number),
          processes,
          ['node', ...ids.map(String)],
          {
            ...nodeMemory,
            ...options.nodeEnvironment,
            SIGNMESH_CLUSTER: String(number),
            SIGNMESH_COORDINATOR_URL: coordinatorUrl,
            SIGNMESH_ALLOW_CLIENT_DEALERS: options.clientDealers ? 'on' : 'off',
          },
          nodeFlags,
        );
      }),
    );
    this.#gateways = Array.from({ length: options.gateways }, (_, index) =>
      role(numbered('gateway', index), ['gateway'], ['gateway'], {
        REDIS_URL: redisUrl,
        SIGNMESH_COORDINATOR_URL: clusters.map(({ coordinatorUrl }) => coordinatorUrl).join(','),
        SIGNMESH_HTTP_PORT: String(options.httpPort + index),
        SIGNMESH_GRPC_PORT: String(options.grpcPort + index),
        ...(index === 0 && options.gatewayListens),
      }),
    );
    this.#workers = Array.from({ length: options.workers }, (_, index) =>
      role(numbered('worker', index), ['worker'], ['worker'], { REDIS_URL: redisUrl }),
    );
    metrics.write(options.dataDir);
  }

  /** Every child with the processes in it. */
  get members(): readonly Member[] {
    return [...this.#redis, ...this.#roles];
  }

  get children(): readonly SupervisedChild[] {
    return this.members.map(({ child }) => child);
  }

  get #roles(): readonly Member[] {
    return [...this.#coordinators, ...this.#nodes, ...this.#gateways, ...this.#workers];
  }

  /** As faults name them. */
  get nodeNames(): readonly string[] {
    return this.#nodes.flatMap(({ processes }) => processes);
  }

  /** The number of role processes. */
  get roleCount(): number {
    return this.#roles.length;
  }

  /** With its password: secret. */
  get redisUrl(): string {
    return this.#options.redisUrl;
  }

  /** Resident memory of the nodes' processes, divided by the nodes in them; undefined: the system does not say. */
  get bytesPerNode(): number | undefined {
    const sizes = this.#nodes.map(({ child }) => residentBytes(child.pid));
    const nodes = this.#nodes.reduce((sum, { processes }) => sum + processes.length, 0);
    const total = sizes.reduce<number | undefined>(
      (sum, size) => (sum === undefined || size === undefined ? undefined : sum + size),
      0,
    );
    return total === undefined ? undefined : Math.round(total / nodes);
  }

  get pids(): Readonly<Record<string, number>> {
    const entries = this.children.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid] as const]));
    return Object.fromEntries(entries);
  }

  /** Resolves when the private Redis answers; at once when there is none. */
  async startRedis(): Promise<void> {
    this.#mayStart();
    const redis = this.#redis.map(({ child }) => child);
    for (const child of redis) child.start();
    await this.#whenReady(redis);
  }

  /** Resolves when all role processes serve. `onReady` is called for each. Rejects with a Failure that names the culprit. */
  async startRoles(onReady: (name: string) => void): Promise<void> {
    this.#mayStart();
    const roles = this.#roles.map(({ child }) => child);
    for (const child of roles) {
      child.start();
      child.whenReady.then(
        () => onReady(child.name),
        () => undefined,
      );
    }
    await this.#whenReady(roles);
  }

  /** The start is over: from now on shows a child's records from this level on. */
  showFrom(level: 'info' | 'warn'): void {
    for (const child of this.children) child.log.showFrom(level);
  }

  /** Repeatable. Never rejects. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopInOrder();
    return this.#stopped;
  }

  /** At once and in no order: the person has pressed Ctrl-C again. */
  kill(): void {
    for (const child of this.children) child.kill();
  }

  /** After a stop during the start, no new child may start. */
  #mayStart(): void {
    if (this.#stopped !== undefined) throw new Failure('The start was interrupted.');
  }

  async #stopInOrder(): Promise<void> {
    for (const child of this.children) child.expectStop();
    for (const members of [this.#gateways, this.#workers, this.#coordinators, this.#nodes, this.#redis]) {
      await Promise.all(members.map(({ child }) => child.stop(stopGraceMs)));
    }
  }

  /** The processes that are not ready yet, with their reasons if known; empty: all are ready. */
  get missing(): string {
    return missingOf(this.children);
  }

  async #whenReady(children: readonly SupervisedChild[]): Promise<void> {
    const progress = new Progress();
    let timer: NodeJS.Timeout | undefined;
    const stalled = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        if (!progress.isStalled(signsOf(children))) return;
        const forS = progress.stalledAfterMs / 1000;
        reject(new Failure(`Not ready, and no progress for ${forS} s: ${missingOf(children)}. See ${this.#logs}.`));
      }, progressEveryMs);
    });
    const ready = children.map(async (child) => {
      try {
        await child.whenReady;
      } catch (error) {
        const last = child.log.tail.map((line) => `\n  ${line}`).join('');
        throw error instanceof Failure ? error : new Failure(`${errorText(error)}. Its last words:${last}`);
      }
    });
    try {
      await Promise.race([Promise.all(ready), stalled]);
    } finally {
      clearInterval(timer);
    }
  }

  get #logs(): string {
    return join(this.#options.dataDir, 'logs');
  }

  #role(
    name: string,
    processes: readonly string[],
    args: readonly string[],
    extra: Environment,
    flags: readonly string[],
  ): ChildSpec {
    const inherited = Object.entries(this.#options.environment).filter(([variable]) => !notInherited.test(variable));
    return {
      name,
      command: process.execPath,
      args: [...flags, builtFile('cli/main.js'), ...args],
      environment: { ...Object.fromEntries(inherited), ...extra, SIGNMESH_DATA_DIR: this.#options.dataDir },
      environmentNow: () => clockEnvironment(this.clocks, processes),
      channel: true,
      logFile: join(this.#logs, `${name}.log`),
      recordFile: join(this.#options.dataDir, 'run', `${name}.pid`),
    };
  }
}

/** As in messages, logs and pids: "node-3", "cluster-2-node-3". */
function childName(name: string, cluster: number): string {
  return cluster === firstCluster ? name : `cluster-${cluster}-${name}`;
}

/** "gateway", "gateway-2", … */
function numbered(name: string, index: number): string {
  return index === 0 ? name : `${name}-${index + 1}`;
}

/** Ids from 1, grouped by shared process. */
function groupsOf(nodes: number, perProcess: number): readonly (readonly number[])[] {
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  return Array.from({ length: Math.ceil(nodes / perProcess) }, (_, index) =>
    ids.slice(index * perProcess, (index + 1) * perProcess),
  );
}
