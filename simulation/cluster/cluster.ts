/**
 * A whole simulated cluster in one process: the real actors of nodes/ and coordinator/, a virtual clock, a network that carries
 * encoded frames, stores, a gateway's calls, a receiver of webhooks, and all faults of these parts (scenarios/faults/vocabulary/fault.ts).
 * Deterministic: the same seed and the same calls give the same trace, byte for byte.
 */
import { expiryAddress, keyRecordKey, sessionKey } from '../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { sweepEveryMs } from '../../coordinator/expiry.ts';
import { noTrace } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { type NodeRecord, type NodeWrite, keyRecordKey as nodesKeyRecordKey } from '../../nodes/records/records.ts';
import type { Roster } from '../../proto/roster.ts';
import type { FaultStatus, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import type { SimulatedCalls } from './calls.ts';
import { SimClient } from './client.ts';
import type { DeliveriesSnapshot, Delivery } from './deliveries.ts';
import type { CoordinatorSnapshot, NodeSnapshot, SyncStore } from './memory-stores.ts';
import type { Bug, SimOptions } from './options.ts';
import type { ProcessState } from './processes.ts';
import type { SimToken } from './token.ts';
import type { SimVendor } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';
import { nodeName, SimWorld } from './world.ts';

export { SimCall, type SimCaller } from './client.ts';
export type { Delivery } from './deliveries.ts';
export type { Bug, FrameFate, SimOptions } from './options.ts';
export type { ProcessState } from './processes.ts';

/** The result of `snapshot`; only `restore` reads it. */
export interface SimSnapshot {
  readonly coordinator: CoordinatorSnapshot;
  readonly nodes: readonly NodeSnapshot[];
  readonly deliveries: DeliveriesSnapshot | undefined;
}

/** One simulated gateway makes calls for a tenant. */
export class SimCluster extends SimClient {
  override readonly time: VirtualTime;
  readonly roster: Roster;
  /** Every frame, event, process and fault, one line each: the trace. Empty without `keepTrace`. */
  readonly trace: SimWorld['trace'];
  /** The events of actors. Empty without `keepTrace`. */
  readonly events: SimWorld['events'];
  /** Actors that threw, with `onBug: 'record'`. */
  readonly bugs: readonly Bug[];
  readonly #world: SimWorld;
  readonly #number: number | undefined;
  protected override readonly send: SimClient['send'] = (call, done) => this.calls.start(call, done);

  constructor(options: SimOptions) {
    super();
    this.#number = options.number;
    const world = new SimWorld(options);
    this.#world = world;
    this.time = world.time;
    this.roster = world.roster;
    this.trace = world.trace;
    this.events = world.events;
    this.bugs = world.bugs;
    if (options.sweeping === true) this.#sweepForEver(options.sweepEveryMs);
    for (const fault of options.faults ?? []) this.arm(fault);
  }

  /** Of its gateway. */
  get calls(): SimulatedCalls {
    return this.#world.calls;
  }

  /** Milliseconds since the world began. */
  get scenarioMs(): number {
    return this.#world.recorder.atMs;
  }

  // --- processes ---------------------------------------------------------------------------------------------------

  startCoordinator(): void {
    this.start('coordinator');
  }

  crashCoordinator(): void {
    this.crash('coordinator');
  }

  startNode(id: number): void {
    this.start(nodeName(id));
  }

  crashNode(id: number): void {
    this.crash(nodeName(id));
  }

  /** Whether a node's process is up; a paused one counts as up. */
  isNodeUp(id: number): boolean {
    return this.stateOf(nodeName(id)) !== 'down';
  }

  get isCoordinatorUp(): boolean {
    return this.stateOf('coordinator') !== 'down';
  }

  /** "redis", "coordinator", "node/1" …, "gateway", and with a receiver "worker" and "receiver". */
  processes(): readonly ProcessName[] {
    return this.#world.processes.names();
  }

  stateOf(process: ProcessName): ProcessState {
    return this.#world.processes.stateOf(process);
  }

  /** Of its latest start. */
  bootOf(process: ProcessName): string {
    return this.#world.processes.bootOf(process);
  }

  /** The number of its starts. */
  startsOf(process: ProcessName): number {
    return this.#world.processes.startsOf(process);
  }

  /** Whether a node or gateway has its link to the coordinator. */
  isLinked(process: ProcessName): boolean {
    return this.#world.network.isUp(process);
  }

  /** Starts a process that is down, linked at once. */
  start(process: ProcessName): void {
    this.#world.processes.start(process, true);
  }

  /** It restarts after `restartAfterMs`; by default only `start` restarts it. */
  crash(process: ProcessName, options: { readonly loseState?: boolean; readonly restartAfterMs?: number } = {}): void {
    this.#world.processes.crash(process, options.loseState ?? false, options.restartAfterMs ?? null);
  }

  pause(process: ProcessName): void {
    this.#world.processes.pause(process);
  }

  resume(process: ProcessName): void {
    this.#world.processes.resume(process);
  }

  /** Nodes that are linked to the coordinator. */
  nodesReady(): number {
    return this.roster.nodes.filter(({ id }) => this.#world.network.isUp(nodeName(id))).length;
  }

  /** Whether the gateway has a link to the coordinator. */
  get isGatewayLinked(): boolean {
    return this.#world.network.isUp('gateway');
  }

  /** The offset of a process's clock from virtual time. */
  clockOffsetMs(process: ProcessName): number {
    return this.#world.processes.clockOffsetMs(process);
  }

  /** Sets every clock forward. Timers ignore it, and virtual time does not pass. */
  advance(byMs: number): void {
    const { processes, recorder } = this.#world;
    processes.advance(byMs);
    for (const { id } of this.roster.nodes) recorder.clock(nodeName(id), processes.clockOffsetMs(nodeName(id)));
    recorder.clock('coordinator', processes.clockOffsetMs('coordinator'));
  }

  /** Sets the offset of every clock to this value, whatever faults did to it. `ownMs`: of processes, beside that. */
  rightClocks(offsetMs = 0, ownMs: Readonly<Record<string, number>> = {}): void {
    this.#world.faultService.rightClocks();
    this.#world.processes.rightClocks(offsetMs, ownMs);
  }

  // --- faults ------------------------------------------------------------------------------------------------------

  /** Returns the fault's id. Throws FaultError when the fault makes no sense for this cluster. */
  arm(fault: Fault): string {
    return this.#world.faultService.arm(fault);
  }

  /** Returns whether a fault with that id existed. */
  disarm(id: string): boolean {
    return this.#world.faultService.disarm(id);
  }

  /** Ends all faults; releases the frames that they hold. */
  clearFaults(): void {
    this.#world.faultService.clear();
  }

  faultStatuses(): readonly FaultStatus[] {
    return this.#world.faultService.list();
  }

  /** Announces a step of a scenario, for triggers that name it. */
  step(name: string): void {
    this.#world.faultService.step(name);
  }

  /** Ends every fault, and starts or resumes every process. Clocks keep their offsets. */
  heal(): void {
    const { faultService, processes, recorder } = this.#world;
    faultService.clear();
    for (const process of processes.names()) {
      processes.resume(process);
      processes.start(process, false);
    }
    recorder.healed();
  }

  // --- what is durable ---------------------------------------------------------------------------------------------

  /** A node's Ed25519 seed, for tests in which it lies under its own signature. */
  identitySeed(id: number): Uint8Array {
    return this.#world.identities[id - 1]!;
  }

  /** The durable record of a session; undefined when the guests of the world store the sessions. The same for keys and logs. */
  storedSession(tenant: string, sessionId: string): SessionRecord | undefined {
    const record = this.#world.coordinatorStore
      .as(Number.MAX_SAFE_INTEGER, this.#number)
      .loadNow(sessionKey(tenant, sessionId));
    return record?.kind === 'session' ? record.session : undefined;
  }

  /** The durable record of a key. */
  storedKey(tenant: string, keyId: string): KeyRecord | undefined {
    const record = this.#world.coordinatorStore
      .as(Number.MAX_SAFE_INTEGER, this.#number)
      .loadNow(keyRecordKey(tenant, keyId));
    return record?.kind === 'key' ? record.key : undefined;
  }

  /** The tenant's event log, oldest first: an event's sequence is its index, counted from 1. */
  eventLog(tenant: string): readonly LoggedEvent[] {
    return this.#world.coordinatorStore.events(tenant);
  }

  /** The nodes whose store has a share of the key. */
  holdersOf(tenant: string, keyId: string): readonly number[] {
    const ids = this.roster.nodes.map(({ id }) => id);
    return ids.filter((id) => this.nodeStore(id).loadNow(nodesKeyRecordKey(tenant, keyId)) !== undefined);
  }

  /** The store of a node, for tests that act as a thief. */
  nodeStore(id: number): SyncStore<NodeWrite, NodeRecord> {
    return this.#world.nodeStores[id - 1]!;
  }

  /** The vendor of MPC_VENDOR keys. */
  get vendor(): SimVendor {
    return this.#world.vendor;
  }

  /** The PKCS#11 token of a node. */
  token(id: number): SimToken {
    return this.#world.tokens[id - 1]!;
  }

  /** All durable state. */
  snapshot(): SimSnapshot {
    const { coordinatorStore, nodeStores, deliveries } = this.#world;
    return {
      coordinator: coordinatorStore.snapshot(),
      nodes: nodeStores.map((store) => store.snapshot()),
      deliveries: deliveries?.snapshot(),
    };
  }

  /**
   * Restarts every process from that durable state; all that was in memory, nonces too, is void. Guests in `except` continue:
   * they must clear their memory themselves.
   */
  restore(snapshot: SimSnapshot, except: readonly ProcessName[] = []): void {
    const { coordinatorStore, nodeStores, deliveries } = this.#world;
    const restarted = this.processes().filter((process) => !except.includes(process));
    for (const process of restarted) this.crash(process);
    coordinatorStore.restore(snapshot.coordinator);
    for (const [index, store] of nodeStores.entries()) store.restore(snapshot.nodes[index]!);
    if (snapshot.deliveries) deliveries?.restore(snapshot.deliveries);
    for (const process of restarted) this.start(process);
  }

  // --- webhooks and expiry -----------------------------------------------------------------------------------------

  /** Every try to deliver an event so far. */
  deliveries(): readonly Delivery[] {
    return this.#world.deliveries?.log() ?? [];
  }

  /** The type of every event that the receiver has acknowledged, in the order of the acknowledgements. */
  delivered(): readonly string[] {
    return this.#world.deliveries?.delivered() ?? [];
  }

  /** Deliveries in progress, and invalid jobs of the worker's queue. */
  get queue(): { readonly outstanding: number; readonly putAside: number } {
    const { deliveries } = this.#world;
    return { outstanding: deliveries?.outstanding ?? 0, putAside: deliveries?.putAside ?? 0 };
  }

  /** Starts one scan for expired sessions. A live coordinator scans by itself, a simulated one with `sweeping`. */
  sweep(): void {
    const message = { kind: 'sweep' } as const;
    for (const coordinator of this.#world.coordinators)
      coordinator.deliver({ from: 'runtime', to: expiryAddress, message, trace: noTrace });
  }

  /** It does not count as outstanding work: see virtual-time.ts. */
  #sweepForEver(everyMs = sweepEveryMs): void {
    const { coordinatorStore, processes, guests } = this.#world;
    const again = () => {
      // Without an ended lifetime a scan changes nothing, and a world may be idle for days.
      if (guests.sessions !== undefined || coordinatorStore.nextEndMs() <= processes.nowMs('coordinator')) this.sweep();
      this.time.after(everyMs, again, true);
    };
    this.time.after(everyMs, again, true);
  }
}
