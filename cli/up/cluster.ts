/**
 * The processes of all clusters of one `up`, as children: how each is started, in which order they stop.
 *
 * They start at once and find each other by themselves: nodes and gateway try again until the coordinator listens.
 * They stop from the outside in, so that no client gets an outcome that was lost: the gateway takes no more calls, the
 * workers finish their deliveries, the coordinator finishes what it has, the nodes close their stores, and Redis writes everything out last.
 */
import { join } from 'node:path';
import { processIn } from '../../faults/cluster-names.ts';
import { firstCluster } from '../../redis/clusters.ts';
import { builtFile } from '../common/built.ts';
import { errorText, Failure } from '../common/failure.ts';
import type { Environment } from '../settings/config.ts';
import { Progress } from '../start/progress.ts';
import type { MetricsTargets } from './metrics-targets.ts';
import { clockEnvironment, type Member, residentBytes } from './processes.ts';
import { missingOf, signsOf } from './start-progress.ts';
import { type ChildSpec, SupervisedChild } from './supervisor.ts';

const stopGraceMs = 5000;
const progressEveryMs = 500;
/** Variables of ours that a child must not inherit: each role gets the variables that it reads, and no secret of another role. Its links stay on loopback. */
const notInherited = /^(REDIS_URL$|SIGNMESH_LINK_TLS$|SIGNMESH_TLS_|SIGNMESH_SEED$|npm_|NODE_CHANNEL_)/;

/**
 * Five nodes share a machine with everything else, so each is kept small, at no cost that was measured. Its objects die
 * young or stay for good: V8's default nursery, up to 48 MiB, would only keep their garbage resident, and so would an old
 * space that doubles before it is collected. Its few threads need no malloc arena each.
 */
const nodeFlags = ['--max-semi-space-size=2', '--heap-growing-percent=10', '--single-threaded-gc'];
/**
 * Young objects are collected on the thread that made them. V8 would spread that over the cores: but here more processes than
 * cores want to run, and each collection would wait until its helpers get their turn (measured: up to seven times as long).
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
  /** Of the first gateway; the next one's follow. */
  readonly httpPort: number;
  readonly grpcPort: number;
  /** Where the first gateway listens, if not where its callers come. */
  readonly gatewayListens: Environment;
  readonly redisUrl: string;
  /** undefined: the Redis is not ours to start. */
  readonly redis: ChildSpec | undefined;
  readonly environment: Environment;
  readonly metrics: MetricsTargets;
  /** For the nodes alone. */
  readonly nodeEnvironment: Environment;
  /** Whether the nodes take client-supplied dealers. */
  readonly clientDealers: boolean;
  /** `isNews`: false for what only `--verbose` shows. */
  readonly say: (line: string, isNews?: boolean) => void;
}

export interface OneCluster {
  readonly number: number;
  readonly nodes: number;
  readonly coordinatorPort: number;
  /** Where nodes and gateways find the coordinator: itself, or what stands before it. */
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
  /** How far the clock of a process is off, by its name in faults; read at each start of one. */
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

  /** Role processes in all. */
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

  /** The start is over: from now on a child's records from this level on are worth a line. */
  showFrom(level: 'info' | 'warn'): void {
    for (const child of this.children) child.log.showFrom(level);
  }

  /** Repeatable. Never rejects. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopInOrder();
    return this.#stopped;
  }

  /** At once and without order: the person has pressed Ctrl-C again. */
  kill(): void {
    for (const child of this.children) child.kill();
  }

  /** After a stop during the start, no new child may be started. */
  #mayStart(): void {
    if (this.#stopped !== undefined) throw new Failure('The start was interrupted.');
  }

  async #stopInOrder(): Promise<void> {
    for (const child of this.children) child.expectStop();
    for (const members of [this.#gateways, this.#workers, this.#coordinators, this.#nodes, this.#redis]) {
      await Promise.all(members.map(({ child }) => child.stop(stopGraceMs)));
    }
  }

  /** Which of them are not ready yet, and why as far as they say; empty: all are. */
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

/** Ids from 1, as many together as share a process. */
function groupsOf(nodes: number, perProcess: number): readonly (readonly number[])[] {
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  return Array.from({ length: Math.ceil(nodes / perProcess) }, (_, index) =>
    ids.slice(index * perProcess, (index + 1) * perProcess),
  );
}
