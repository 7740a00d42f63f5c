/** What is done to a cluster, and seen of it: its processes and their clocks, its faults, its durable state, its webhooks. */
import { expiryAddress, keyRecordKey, sessionKey } from '../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { noTrace } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { type NodeRecord, type NodeWrite, keyRecordKey as nodesKeyRecordKey } from '../../nodes/records/records.ts';
import type { Roster } from '../../proto/roster.ts';
import type { FaultStatus, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { SimClient } from './client.ts';
import type { Deliveries, DeliveriesSnapshot, Delivery } from './deliveries.ts';
import type { FaultService } from './fault-service.ts';
import type { SimulatedLinks } from './links.ts';
import type { MachineLives } from './machine-lives.ts';
import type { CoordinatorSnapshot, MemoryNodeStore, NodeSnapshot, SyncStore } from './memory-stores.ts';
import { nodeName, type Processes, type ProcessState } from './processes.ts';
import type { Recorder } from './recorder.ts';
import type { SharedWorld } from './shared.ts';
import type { SimToken } from './token.ts';

/** The result of `snapshot`; only `restore` reads it. */
export interface SimSnapshot {
  readonly coordinator: CoordinatorSnapshot;
  readonly nodes: readonly NodeSnapshot[];
  readonly deliveries: DeliveriesSnapshot | undefined;
}

export interface ClusterParts {
  readonly number: number;
  readonly shared: SharedWorld;
  /** Of the nodes, 32 bytes each. Secret. */
  readonly identities: readonly Uint8Array[];
  readonly nodeStores: readonly MemoryNodeStore[];
  readonly tokens: readonly SimToken[];
  readonly recorder: Recorder;
  readonly processes: Processes;
  readonly faultService: FaultService;
  readonly links: SimulatedLinks;
  readonly machines: MachineLives;
  readonly deliveries: Deliveries | undefined;
}

export abstract class ClusterControls extends SimClient {
  abstract readonly roster: Roster;
  protected abstract readonly parts: ClusterParts;

  /** The time that the clock of a process shows. */
  nowMs(process: ProcessName): number {
    return this.parts.processes.nowMs(process);
  }

  /** Milliseconds since the world began. */
  get scenarioMs(): number {
    return this.parts.recorder.atMs;
  }

  // --- processes ---------------------------------------------------------------------------------------------------

  /** "redis", "coordinator", "node/1" …, "gateway", and with a receiver "worker" and "receiver". */
  processes(): readonly ProcessName[] {
    return this.parts.processes.names();
  }

  stateOf(process: ProcessName): ProcessState {
    return this.parts.processes.stateOf(process);
  }

  /** Of its latest start. */
  bootOf(process: ProcessName): string {
    return this.parts.processes.bootOf(process);
  }

  /** The number of its starts. */
  startsOf(process: ProcessName): number {
    return this.parts.processes.startsOf(process);
  }

  /** Whether a node or gateway has its link to the coordinator. */
  isLinked(process: ProcessName): boolean {
    return this.parts.links.network.isUp(process);
  }

  /** Starts a process that is down, linked at once. */
  start(process: ProcessName): void {
    this.parts.processes.start(process, true);
  }

  /** It restarts after `restartAfterMs`; by default only `start` restarts it. */
  crash(process: ProcessName, options: { readonly loseState?: boolean; readonly restartAfterMs?: number } = {}): void {
    this.parts.processes.crash(process, options.loseState ?? false, options.restartAfterMs ?? null);
  }

  pause(process: ProcessName): void {
    this.parts.processes.pause(process);
  }

  resume(process: ProcessName): void {
    this.parts.processes.resume(process);
  }

  /** Nodes that are linked to the coordinator. */
  nodesReady(): number {
    return this.roster.nodes.filter(({ id }) => this.parts.links.network.isUp(nodeName(id))).length;
  }

  /** Whether the gateway has a link to the coordinator. */
  get isGatewayLinked(): boolean {
    return this.parts.links.network.isUp('gateway');
  }

  /** The offset of a process's clock from virtual time. */
  clockOffsetMs(process: ProcessName): number {
    return this.parts.processes.clockOffsetMs(process);
  }

  /** Sets every clock forward. Timers ignore it, and virtual time does not pass. */
  advance(byMs: number): void {
    const processes = this.parts.processes;
    processes.advance(byMs);
    for (const process of [...this.roster.nodes.map(({ id }) => nodeName(id)), 'coordinator']) {
      this.parts.recorder.clock(process, processes.clockOffsetMs(process));
    }
  }

  /** Sets the offset of every clock to this value, whatever faults did to it. `ownMs`: of processes, beside that. */
  rightClocks(offsetMs = 0, ownMs: Readonly<Record<string, number>> = {}): void {
    this.parts.faultService.rightClocks();
    this.parts.processes.rightClocks(offsetMs, ownMs);
  }

  // --- faults ------------------------------------------------------------------------------------------------------

  /** Returns the fault's id. Throws FaultError when the fault makes no sense for this cluster. */
  arm(fault: Fault): string {
    return this.parts.faultService.arm(fault);
  }

  /** Returns whether a fault with that id existed. */
  disarm(id: string): boolean {
    return this.parts.faultService.disarm(id);
  }

  /** Ends all faults; releases the frames that they hold. */
  clearFaults(): void {
    this.parts.faultService.clear();
  }

  faultStatuses(): readonly FaultStatus[] {
    return this.parts.faultService.list();
  }

  /** Announces a step of a scenario, for triggers that name it. */
  step(name: string): void {
    this.parts.faultService.step(name);
  }

  /** Ends every fault, and starts or resumes every process. Clocks keep their offsets. */
  heal(): void {
    this.parts.faultService.clear();
    for (const process of this.parts.processes.names()) {
      this.parts.processes.resume(process);
      this.parts.processes.start(process, false);
    }
    this.parts.recorder.healed();
  }

  // --- what is durable ---------------------------------------------------------------------------------------------

  /** A node's Ed25519 seed, for tests in which it lies under its own signature. */
  identitySeed(id: number): Uint8Array {
    return this.parts.identities[id - 1]!;
  }

  /** The durable record of a session; undefined where another room stores the sessions. The same for keys and logs. */
  storedSession(tenant: string, sessionId: string): SessionRecord | undefined {
    const record = this.#stored(sessionKey(tenant, sessionId));
    return record?.kind === 'session' ? record.session : undefined;
  }

  /** The durable record of a key. */
  storedKey(tenant: string, keyId: string): KeyRecord | undefined {
    const record = this.#stored(keyRecordKey(tenant, keyId));
    return record?.kind === 'key' ? record.key : undefined;
  }

  #stored(key: string) {
    return this.parts.shared.store.as(Number.MAX_SAFE_INTEGER, this.parts.number).loadNow(key);
  }

  /** The tenant's event log, oldest first: an event's sequence is its index, counted from 1. */
  eventLog(tenant: string): readonly LoggedEvent[] {
    return this.parts.shared.store.events(tenant);
  }

  /** The nodes whose store has a share of the key. */
  holdersOf(tenant: string, keyId: string): readonly number[] {
    const ids = this.roster.nodes.map(({ id }) => id);
    return ids.filter((id) => this.nodeStore(id).loadNow(nodesKeyRecordKey(tenant, keyId)) !== undefined);
  }

  /** The store of a node, for tests that act as a thief. */
  nodeStore(id: number): SyncStore<NodeWrite, NodeRecord> {
    return this.parts.nodeStores[id - 1]!;
  }

  /** The PKCS#11 token of a node. */
  token(id: number): SimToken {
    return this.parts.tokens[id - 1]!;
  }

  /** All durable state. */
  snapshot(): SimSnapshot {
    return {
      coordinator: this.parts.shared.store.snapshot(),
      nodes: this.parts.nodeStores.map((store) => store.snapshot()),
      deliveries: this.parts.deliveries?.snapshot(),
    };
  }

  /**
   * Restarts every process from that durable state; all that was in memory, nonces too, is void. Processes in `except` continue:
   * they must clear their memory themselves.
   */
  restore(snapshot: SimSnapshot, except: readonly ProcessName[] = []): void {
    const restarted = this.processes().filter((process) => !except.includes(process));
    for (const process of restarted) this.crash(process);
    this.parts.shared.store.restore(snapshot.coordinator);
    for (const [index, store] of this.parts.nodeStores.entries()) store.restore(snapshot.nodes[index]!);
    if (snapshot.deliveries) this.parts.deliveries?.restore(snapshot.deliveries);
    for (const process of restarted) this.start(process);
  }

  // --- webhooks and expiry -----------------------------------------------------------------------------------------

  /** Every try to deliver an event so far. */
  deliveries(): readonly Delivery[] {
    return this.parts.deliveries?.log() ?? [];
  }

  /** The type of every event that the receiver has acknowledged, in the order of the acknowledgements. */
  delivered(): readonly string[] {
    return this.parts.deliveries?.delivered() ?? [];
  }

  /** Deliveries in progress, and invalid jobs of the worker's queue. */
  get queue(): { readonly outstanding: number; readonly putAside: number } {
    return { outstanding: this.parts.deliveries?.outstanding ?? 0, putAside: this.parts.deliveries?.putAside ?? 0 };
  }

  /** Starts one scan for expired sessions. A live coordinator scans by itself, a simulated one with `sweeping`. */
  sweep(): void {
    const message = { kind: 'sweep' } as const;
    for (const coordinator of [this.parts.machines.coordinator, this.parts.machines.replaced])
      coordinator?.deliver({ from: 'runtime', to: expiryAddress, message, trace: noTrace });
  }
}
