/**
 * The simulated clusters of one world, one or several, as scenarios see them: each has its own coordinator, nodes, links and faults, and its own names for them
 * (scenarios/faults/cluster-names.ts); they share time, Redis, gateways and the worker. Outside a cluster the full names apply.
 *
 * The gateway chooses the cluster of a call by the live gateway's code (gateway/signing/cluster-calls.ts).
 */
import { firstCluster } from '../../core/redis/clusters.ts';
import { ClusterCalls } from '../../gateway/signing/cluster-calls.ts';
import { ClusterFaults, processIn, splitName } from '../../scenarios/faults/cluster-names.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { FaultStatus, PortCallMade, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { SimClient } from './client.ts';
import { SimCluster, type SimSnapshot } from './cluster.ts';
import type { Observation } from './observation.ts';
import type { SimOptions } from './options.ts';
import { randomStream } from './random.ts';
import { SharedWorld } from './shared.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SimClustersOptions extends Omit<SimOptions, 'observe' | 'number' | 'shared' | 'faults'> {
  /** 1 by default. */
  readonly clusters?: number | undefined;
  /** The observations of a cluster, in that cluster's own names. */
  readonly observe?: ((observation: Observation, cluster: number) => void) | undefined;
}

export interface ClustersSnapshot {
  readonly cluster: SimSnapshot;
  /** Those after the first, if there are any. */
  readonly further?: readonly SimSnapshot[];
}

export class SimClusters extends SimClient {
  /** By number, from 1. */
  readonly each: readonly SimCluster[];
  readonly #shared: SharedWorld;
  override readonly time: VirtualTime;
  protected override readonly send: SimClient['send'];
  readonly #faults: ClusterFaults;

  constructor({ clusters = 1, observe, record, ...options }: SimClustersOptions) {
    super();
    this.#faults = new ClusterFaults(clusters);
    this.#shared = new SharedWorld(options.time, options.external?.redis);
    this.time = this.#shared.time;
    this.each = Array.from({ length: clusters }, (_, index) => {
      const number = index + 1;
      return new SimCluster({
        ...options,
        ...randomnessIn(number, options),
        number,
        shared: this.#shared,
        // The world has one worker and one receiver.
        receiver: options.receiver === true && number === firstCluster,
        ...(observe && { observe: (observation) => observe(observation, number) }),
        ...(record && { record: (event) => record(withFullNames(number, event)) }),
      });
    });
    const calls = clusters === 1 ? this.first.calls : this.#calls(options);
    this.send = (call, done) => calls.start(call, done);
    if (options.external === undefined) this.open();
  }

  /** Starts all processes, cluster by cluster. A world with external processes, which use it, is not open before. */
  open(): void {
    for (const cluster of this.each) cluster.open();
  }

  #calls({ seed, readyMade }: Pick<SimOptions, 'seed' | 'readyMade'>): ClusterCalls {
    const { redis } = this.#shared;
    return new ClusterCalls({
      clusters: new Map(this.each.map((cluster, index) => [index + 1, cluster.calls])),
      view: {
        isConnected: (number) => this.#of(number).isGatewayLinked,
        statusOf: (number) => {
          const cluster = this.#of(number);
          const nodesReady = { length: cluster.nodesReady() };
          const storeReady = cluster.isGatewayLinked && redis.isUp;
          return { nodesTotal: cluster.roster.nodes.length, nodesReady, storeReady };
        },
      },
      book: {
        locate: (tenant, id, found, failed) =>
          redis.isUp ? found(this.locate(tenant, id)) : failed(new Error('Redis does not answer')),
        session: (tenant, id, found) => found(redis.isUp ? this.storedSession(tenant, id) : undefined),
        placed: () => undefined,
      },
      clock: { nowMs: () => this.time.nowMs() },
      random: randomStream(seed, 'clusters'),
      readyMade: readyMade && {
        tenant: readyMade.tenant,
        schemes: Object.fromEntries(readyMade.sessions.map((session) => [session, true])),
      },
    });
  }

  get first(): SimCluster {
    return this.each[0]!;
  }

  /** 32 bytes: of the identity that all gateways share. */
  get gatewaySeed(): Uint8Array {
    return this.#shared.gatewaySeed!;
  }

  /** Of all clusters, one after the other. */
  get trace(): readonly string[] {
    return this.each.flatMap((cluster, index) =>
      index === 0 ? cluster.trace : cluster.trace.map((line) => `cluster ${index + 1}: ${line}`),
    );
  }

  get scenarioMs(): number {
    return this.first.scenarioMs;
  }

  /** Of all clusters. */
  nodesReady(): number {
    return this.each.reduce((sum, cluster) => sum + cluster.nodesReady(), 0);
  }

  /** The cluster of a session or key; undefined: there is neither. */
  locate(tenant: string, id: string): number | undefined {
    return this.#shared.store.locate(tenant, id);
  }

  storedSession: SimCluster['storedSession'] = (tenant, id) =>
    this.#of(this.locate(tenant, id) ?? firstCluster).storedSession(tenant, id);

  eventLog: SimCluster['eventLog'] = (tenant) => this.#shared.store.events(tenant);

  delivered(): readonly string[] {
    return this.first.delivered();
  }

  /** The offset of the clock of a process, by its full name. */
  clockOffsetMs(process: ProcessName): number {
    const { cluster, name } = splitName(process);
    return this.#of(cluster).clockOffsetMs(name);
  }

  /** Whether a process, by its full name, has its link to the coordinator. */
  isLinked(process: ProcessName): boolean {
    const { cluster, name } = splitName(process);
    return this.#of(cluster).isLinked(name);
  }

  /** See SimCluster.rightClocks; `ownMs` by cluster. */
  rightClocks(offsetMs = 0, ownMs: readonly Readonly<Record<string, number>>[] = []): void {
    for (const [index, cluster] of this.each.entries()) cluster.rightClocks(offsetMs, ownMs[index]);
  }

  advance(byMs: number): void {
    for (const cluster of this.each) cluster.advance(byMs);
  }

  heal(): void {
    for (const cluster of this.each) cluster.heal();
  }

  /** Returns its id. Throws FaultError where its targets are in several clusters, or in none of these. */
  arm(fault: Fault): string {
    return this.#faults.arm(fault, (cluster, own) => ({ id: this.#of(cluster).arm(own) })).id;
  }

  /** Returns whether a fault with that id existed. */
  disarm(id: string): boolean {
    return this.#of(this.#faults.clusterOf(id)).disarm(id);
  }

  clearFaults(): void {
    for (const cluster of this.each) cluster.clearFaults();
  }

  faultStatuses(): readonly FaultStatus[] {
    return this.#faults.list((cluster) => this.#of(cluster).faultStatuses());
  }

  step(name: string): void {
    for (const cluster of this.each) cluster.step(name);
  }

  /** The fate of a call of a port by the faults of all clusters; undefined: none is armed. `left`: call it when the call has left. */
  portCall(call: PortCallMade) {
    const verdicts = this.each.flatMap((cluster) => {
      const verdict = cluster.portCall(call);
      return verdict === undefined ? [] : [{ cluster, ...verdict }];
    });
    if (verdicts.length === 0) return undefined;
    for (const { cluster, before } of verdicts) cluster.perform(before);
    const fate = verdicts.map((verdict) => verdict.fate).find((one) => one !== 'answered');
    const delayMs = verdicts.reduce((sum, verdict) => sum + verdict.delayMs, 0);
    return {
      ...(fate !== undefined && { fate }),
      ...(delayMs > 0 && { delayMs }),
      left: () => {
        for (const { cluster, after } of verdicts) cluster.perform(after);
      },
    };
  }

  snapshot(): ClustersSnapshot {
    const [cluster, ...further] = this.each.map((one) => one.snapshot());
    return { cluster: cluster!, ...(further.length > 0 && { further }) };
  }

  /** See SimCluster.restore. */
  restore({ cluster, further = [] }: ClustersSnapshot, except: readonly ProcessName[] = []): void {
    for (const [index, snapshot] of [cluster, ...further].entries()) {
      this.each[index]!.restore(snapshot, index === 0 ? except : []);
    }
  }

  #of(number: number): SimCluster {
    return this.each[number - 1] ?? this.first;
  }
}

/** The randomness of a cluster: identities, ids and random numbers follow from it, and no two clusters have the same. */
function randomnessIn(
  cluster: number,
  { seed, randomOf }: Pick<SimOptions, 'seed' | 'randomOf'>,
): Pick<SimOptions, 'seed' | 'randomOf'> {
  if (cluster === firstCluster) return { seed, ...(randomOf && { randomOf }) };
  const own = `cluster/${cluster}`;
  return { seed: `${seed}/${own}`, ...(randomOf && { randomOf: (label) => randomOf(`${own}/${label}`) }) };
}

/** The event with full names, for reports. */
function withFullNames(cluster: number, event: RunEvent): RunEvent {
  if (cluster === firstCluster) return event;
  const full = (name: string) => processIn(cluster, name);
  switch (event.kind) {
    case 'frame':
      return { ...event, from: full(event.from), to: full(event.to) };
    case 'actor':
    case 'state':
      return { ...event, address: full(event.address) };
    case 'process':
      return { ...event, process: full(event.process) };
    case 'fault':
      return { ...event, targets: event.targets.map(full) };
    case 'violation':
      return { ...event, text: `cluster ${cluster}: ${event.text}` };
    default:
      return event;
  }
}
