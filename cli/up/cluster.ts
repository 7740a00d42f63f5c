/**
 * The processes of one cluster, as children: how each is started, in which order they stop.
 *
 * They start at once and find each other by themselves: nodes and gateway try again until the coordinator listens.
 * They stop from the outside in, so that no client gets an outcome that was lost: the gateway takes no more calls, the
 * workers finish their deliveries, the coordinator finishes what it has, the nodes close their stores, and Redis writes everything out last.
 */
import { join } from 'node:path';
import { builtFile } from '../common/built.ts';
import { errorText, Failure } from '../common/failure.ts';
import type { Environment } from '../settings/config.ts';
import type { MetricsTargets } from './metrics-targets.ts';
import { clockEnvironment } from './processes.ts';
import { missingOf, Progress, signsOf } from './progress.ts';
import { type ChildSpec, SupervisedChild } from './supervisor.ts';

const stopGraceMs = 5000;
const progressEveryMs = 500;
/** Variables of ours that a child must not inherit: each role gets the variables that it reads, and no secret of another role. */
const notInherited = /^(REDIS_URL$|SIGNMESH_SEED$|npm_|NODE_CHANNEL_)/;

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
  readonly nodes: number;
  readonly workers: number;
  readonly coordinatorPort: number;
  /** Where nodes and gateway find the coordinator: itself, or what stands before it. */
  readonly coordinatorUrl: string;
  /** Where the gateway listens, if not where its callers come. */
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

export class Cluster {
  readonly #options: ClusterOptions;
  readonly #redis: SupervisedChild | undefined;
  readonly #coordinator: SupervisedChild;
  readonly #nodes: readonly SupervisedChild[];
  readonly #gateway: SupervisedChild;
  readonly #workers: readonly SupervisedChild[];
  #stopped: Promise<void> | undefined;
  /** How far the clock of a process is off, by its name in faults; read at each start of one. */
  readonly clocks = new Map<string, number>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    const { redisUrl, coordinatorPort, coordinatorUrl, say, metrics } = options;
    const ids = Array.from({ length: options.nodes }, (_, index) => index + 1);
    const role = (name: string, args: readonly string[], extra: Environment, flags: readonly string[] = roleFlags) =>
      new SupervisedChild(this.#role(name, args, { ...extra, ...metrics.next(name) }, flags), say);
    this.#redis = options.redis && new SupervisedChild(options.redis, say);
    this.#coordinator = role('coordinator', ['coordinator'], {
      REDIS_URL: redisUrl,
      SIGNMESH_COORDINATOR_HOST: '127.0.0.1',
      SIGNMESH_COORDINATOR_PORT: String(coordinatorPort),
    });
    const ofNodes = {
      ...nodeMemory,
      ...options.nodeEnvironment,
      SIGNMESH_COORDINATOR_URL: coordinatorUrl,
      SIGNMESH_ALLOW_CLIENT_DEALERS: options.clientDealers ? 'on' : 'off',
    };
    this.#nodes = ids.map((id) => role(`node-${id}`, ['node', String(id)], ofNodes, nodeFlags));
    this.#gateway = role('gateway', ['gateway'], {
      REDIS_URL: redisUrl,
      SIGNMESH_COORDINATOR_URL: coordinatorUrl,
      ...options.gatewayListens,
    });
    this.#workers = Array.from({ length: options.workers }, (_, index) =>
      role(index === 0 ? 'worker' : `worker-${index + 1}`, ['worker'], { REDIS_URL: redisUrl }),
    );
    metrics.write(options.dataDir);
  }

  get children(): readonly SupervisedChild[] {
    return [this.#redis, ...this.#roles].filter((child) => child !== undefined);
  }

  get #roles(): readonly SupervisedChild[] {
    return [this.#coordinator, ...this.#nodes, this.#gateway, ...this.#workers];
  }

  /** With its password: secret. */
  get redisUrl(): string {
    return this.#options.redisUrl;
  }

  get pids(): Readonly<Record<string, number>> {
    const entries = this.children.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid] as const]));
    return Object.fromEntries(entries);
  }

  /** Resolves when the private Redis answers; at once when there is none. */
  async startRedis(): Promise<void> {
    if (this.#redis === undefined) return;
    this.#mayStart();
    this.#redis.start();
    await this.#whenReady([this.#redis]);
  }

  /** Resolves when all role processes serve. `onReady` is called for each. Rejects with a Failure that names the culprit. */
  async startRoles(onReady: (name: string) => void): Promise<void> {
    this.#mayStart();
    for (const child of this.#roles) {
      child.start();
      child.whenReady.then(
        () => onReady(child.name),
        () => undefined,
      );
    }
    await this.#whenReady(this.#roles);
  }

  /** The start is over: from now on a child's records from this level on are worth a line. */
  showFrom(level: 'info' | 'warn'): void {
    for (const child of this.children) child.log.showFrom(level);
  }

  /** Again and again: the same stop. Never rejects. */
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
    await this.#gateway.stop(stopGraceMs);
    await Promise.all(this.#workers.map((worker) => worker.stop(stopGraceMs)));
    await this.#coordinator.stop(stopGraceMs);
    await Promise.all(this.#nodes.map((node) => node.stop(stopGraceMs)));
    await this.#redis?.stop(stopGraceMs);
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

  #role(name: string, args: readonly string[], extra: Environment, flags: readonly string[]): ChildSpec {
    const inherited = Object.entries(this.#options.environment).filter(([variable]) => !notInherited.test(variable));
    return {
      name,
      command: process.execPath,
      args: [...flags, builtFile('cli/main.js'), ...args],
      environment: { ...Object.fromEntries(inherited), ...extra, SIGNMESH_DATA_DIR: this.#options.dataDir },
      environmentNow: () => clockEnvironment(this.clocks, name),
      channel: true,
      logFile: join(this.#logs, `${name}.log`),
      recordFile: join(this.#options.dataDir, 'run', `${name}.pid`),
    };
  }
}
