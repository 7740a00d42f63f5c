/**
 * The processes of all clusters of one `up`, as children: how each starts, and in which order they stop.
 *
 * They start at once and find each other by themselves: nodes and gateways retry until the coordinator serves. Where they connect
 * to it directly, and not to its proxy, they start when it has reported its port. A process whose peer has moved to another port is
 * started again. They stop from the
 * outside in, so that no client gets an outcome that was lost: the gateway accepts no more calls, the workers finish their
 * deliveries, the coordinator finishes its calls, the nodes close their stores, and last Redis writes its data to disk.
 */

import { firstCluster } from '../../core/redis/clusters.ts';
import { processIn, splitName } from '../../scenarios/faults/cluster-names.ts';
import type { PortTakenMessage } from '../common/channel.ts';
import { errorText, Failure } from '../common/failure.ts';
import type { Environment } from '../settings/config.ts';
import type { ChildPort, ChildPorts } from './child-ports.ts';
import type { MetricsTargets } from './metrics-targets.ts';
import type { PrivateRedis } from './private-redis.ts';
import { type Member, residentBytes } from './process-control.ts';
import { type RoleOptions, roleChild } from './role-child.ts';
import { missingOf, untilReady } from './start-progress.ts';
import { type ChildSpec, SupervisedChild } from './supervisor.ts';

const stopGraceMs = 5000;
/**
 * Five nodes share a machine with other processes, so each is kept small, at no measured cost. Its objects die young or stay for
 * good: V8's default nursery, up to 48 MiB, would only keep their garbage resident, and so would an old space that doubles before
 * a collection. Its few threads need no malloc arena each.
 */
const nodeFlags = ['--max-semi-space-size=2', '--heap-growing-percent=10', '--single-threaded-gc'];
const nodeMemory = { MALLOC_ARENA_MAX: '1' };

export interface UpClusterOptions {
  readonly dataDir: string;
  /** By number, from 1. */
  readonly clusters: readonly ClusterToStart[];
  /** Nodes of a cluster that share a process. */
  readonly nodesPerProcess: number;
  readonly gateways: number;
  readonly workers: number;
  /** Of the first gateway; the next one's ports follow. 0: each gateway takes free ones. */
  readonly httpPort: number;
  readonly grpcPort: number;
  /** Whether callers reach the first gateway through proxies: then it listens on any ports of loopback. */
  readonly hasProxiedServers: boolean;
  /** Ports that no process may choose; those of gateways are added once they are known. */
  readonly reservedPorts: Set<number>;
  readonly redis: { readonly url: string } | PrivateRedis;
  readonly environment: Environment;
  readonly metrics: MetricsTargets;
  /** Only for the nodes. */
  readonly nodeEnvironment: Environment;
  /** Whether the nodes accept client-supplied dealers. */
  readonly clientDealers: boolean;
  /** `isNews`: false for lines that only `--verbose` shows. */
  readonly say: (line: string, isNews?: boolean) => void;
  /** The coordinator of this number listens at another port than before. */
  readonly onCoordinatorMoved?: (cluster: number) => void;
}

export interface ClusterToStart {
  readonly number: number;
  readonly nodes: number;
  /** 0: any. */
  readonly coordinatorPort: number;
  /** Where nodes and gateways connect; undefined: to the coordinator itself. */
  readonly proxyUrl: string | undefined;
}

const coordinatorVariable = 'SIGNMESH_COORDINATOR_PORT';
const httpVariable = 'SIGNMESH_HTTP_PORT';
const grpcVariable = 'SIGNMESH_GRPC_PORT';

export class Cluster {
  readonly #options: UpClusterOptions;
  readonly #redis: readonly Member[];
  readonly #coordinators: readonly Member[];
  readonly #nodes: readonly Member[];
  readonly #gateways: readonly Member[];
  readonly #workers: readonly Member[];
  /** By child. */
  readonly #ports = new Map<string, ChildPorts>();
  readonly #coordinatorsListen: Promise<unknown>;
  readonly #coordinatorListens = new Map<number, () => void>();
  #stopped: Promise<void> | undefined;
  #fail!: (failure: Failure) => void;
  /** Rejects when a process cannot run again, because its port was taken while it was down. Never resolves. */
  readonly broken: Promise<never>;
  /** The clock offset of a process, by its name in faults; read at each of its starts. */
  readonly clocks = new Map<string, number>();

  constructor(options: UpClusterOptions) {
    this.#options = options;
    const { clusters, nodesPerProcess, say, redis } = options;
    this.broken = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.broken.catch(() => undefined);
    this.#redis =
      'spec' in redis ? [{ child: new SupervisedChild(this.#watched(redis.spec), say), processes: ['redis'] }] : [];
    const listening = clusters.map(
      ({ number }) => new Promise<void>((resolve) => this.#coordinatorListens.set(number, resolve)),
    );
    this.#coordinatorsListen = Promise.all(listening);
    this.#coordinators = clusters.map(({ number, coordinatorPort, proxyUrl }) =>
      this.#role({
        name: childName('coordinator', number),
        processes: [processIn(number, 'coordinator')],
        args: ['coordinator'],
        ports: { [coordinatorVariable]: { configured: coordinatorPort } },
        environment: () => ({
          REDIS_URL: redis.url,
          SIGNMESH_CLUSTER: String(number),
          SIGNMESH_COORDINATOR_HOST: '127.0.0.1',
          // By default it announces its own.
          SIGNMESH_COORDINATOR_URL: proxyUrl,
        }),
        onListens: (hasMoved) => {
          this.#coordinatorListens.get(number)?.();
          if (hasMoved) this.#coordinatorMoved(number);
        },
      }),
    );
    this.#nodes = clusters.flatMap(({ number, nodes }) =>
      groupsOf(nodes, nodesPerProcess).map((ids) => {
        const name = ids.length === 1 ? `node-${ids[0]}` : `nodes-${ids[0]}-${ids.at(-1)}`;
        return this.#role({
          name: childName(name, number),
          processes: ids.map((id) => processIn(number, `node/${id}`)),
          args: ['node', ...ids.map(String)],
          flags: nodeFlags,
          environment: () => ({
            ...nodeMemory,
            ...options.nodeEnvironment,
            SIGNMESH_CLUSTER: String(number),
            SIGNMESH_COORDINATOR_URL: this.#urlForPeers(number),
            SIGNMESH_ALLOW_CLIENT_DEALERS: options.clientDealers ? 'on' : 'off',
          }),
        });
      }),
    );
    this.#gateways = Array.from({ length: options.gateways }, (_, index) => this.#gateway(index));
    this.#workers = Array.from({ length: options.workers }, (_, index) =>
      this.#role({
        name: numbered('worker', index),
        processes: ['worker'],
        args: ['worker'],
        environment: () => ({ REDIS_URL: redis.url }),
      }),
    );
    options.metrics.write(options.dataDir);
  }

  #gateway(index: number): Member {
    const { clusters, redis, httpPort, grpcPort, hasProxiedServers } = this.#options;
    const isBehindProxies = hasProxiedServers && index === 0;
    const portOf = (first: number): ChildPort =>
      isBehindProxies ? { configured: 0 } : { configured: first === 0 ? 0 : first + index, isAnnounced: true };
    return this.#role({
      name: numbered('gateway', index),
      processes: ['gateway'],
      args: ['gateway'],
      ports: { [httpVariable]: portOf(httpPort), [grpcVariable]: portOf(grpcPort) },
      environment: () => ({
        REDIS_URL: redis.url,
        SIGNMESH_COORDINATOR_URL: clusters.map(({ number }) => this.#urlForPeers(number)).join(','),
        ...(isBehindProxies && { SIGNMESH_HTTP_HOST: '127.0.0.1', SIGNMESH_GRPC_HOST: '127.0.0.1' }),
      }),
    });
  }

  /** Of the coordinator itself; undefined: it does not listen yet. */
  coordinatorUrl(number: number): string | undefined {
    const port = this.#portOf(childName('coordinator', number), coordinatorVariable);
    return port === 0 ? undefined : `ws://127.0.0.1:${port}`;
  }

  /** The ports of a gateway, from 0; 0: not known yet. */
  gatewayPorts(index: number): { readonly http: number; readonly grpc: number } {
    const name = numbered('gateway', index);
    return { http: this.#portOf(name, httpVariable), grpc: this.#portOf(name, grpcVariable) };
  }

  /** Redis listens at another port than before. */
  redisMoved(): void {
    this.#restart([...this.#coordinators, ...this.#gateways, ...this.#workers]);
  }

  #portOf(name: string, variable: string): number {
    return this.#ports.get(name)?.of(variable) ?? 0;
  }

  #urlForPeers(number: number): string {
    return this.#options.clusters[number - 1]?.proxyUrl ?? this.coordinatorUrl(number) ?? '';
  }

  #coordinatorMoved(number: number): void {
    if (this.#options.clusters[number - 1]?.proxyUrl === undefined) {
      const ofCluster = this.#nodes.filter(({ processes }) => splitName(processes[0]!).cluster === number);
      this.#restart([...ofCluster, ...this.#gateways]);
    } else this.#options.onCoordinatorMoved?.(number);
  }

  /** Those that have started: the address in their environment is no longer right. */
  #restart(members: readonly Member[]): void {
    for (const { child } of members) {
      if (child.isAlive) child.restart(stopGraceMs).catch((error: unknown) => this.#options.say(errorText(error)));
    }
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
    return this.#options.redis.url;
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
    await untilReady(redis, this.#options.dataDir);
  }

  /** Resolves when all role processes serve. `onReady` is called for each. Rejects with a Failure that names the culprit. */
  async startRoles(onReady: (name: string) => void): Promise<void> {
    this.#mayStart();
    const peers = [...this.#nodes, ...this.#gateways];
    const start = (members: readonly Member[]) => {
      for (const { child } of members) {
        child.start();
        child.whenReady.then(
          () => onReady(child.name),
          () => undefined,
        );
      }
    };
    const ready = untilReady(
      this.#roles.map(({ child }) => child),
      this.#options.dataDir,
    );
    start([...this.#coordinators, ...this.#workers]);
    if (this.#options.clusters.every(({ proxyUrl }) => proxyUrl !== undefined)) start(peers);
    else {
      await Promise.race([this.#coordinatorsListen, ready]);
      this.#mayStart();
      start(peers);
    }
    await ready;
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

  #role(role: RoleOptions): Member {
    const { spec, ports } = roleChild(role, this.#options, this.clocks);
    this.#ports.set(role.name, ports);
    return { child: new SupervisedChild(this.#watched(spec), this.#options.say), processes: role.processes };
  }

  /** A child that gives up its start because of a taken port ends the cluster. */
  #watched(spec: ChildSpec): ChildSpec {
    const { onPortTaken } = spec;
    return {
      ...spec,
      ...(onPortTaken && {
        onPortTaken: async (taken: PortTakenMessage, wasReady: boolean) => {
          const waitMs = await onPortTaken(taken, wasReady);
          if (waitMs === undefined) this.#fail(new Failure(taken.line));
          return waitMs;
        },
      }),
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
