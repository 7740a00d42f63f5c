/**
 * A whole simulated cluster in one process: the real actors of nodes/ and coordinator/, a virtual clock, a network that carries
 * encoded frames, stores, a gateway's calls, a receiver of webhooks, and all faults of these parts (scenarios/faults/vocabulary/fault.ts).
 * Deterministic: the same seed and the same calls give the same trace, byte for byte.
 */
import { expiryAddress, keyRecordKey, sessionKey } from '../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { sweepEveryMs } from '../../coordinator/expiry.ts';
import type { ActorEvent, Address, RandomBytes, Trace, UndeliveredReason } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { orderIssuer } from '../../gateway/signing/order-issuer.ts';
import { type NodeRecord, type NodeWrite, keyRecordKey as nodesKeyRecordKey } from '../../nodes/records/records.ts';
import type { Roster } from '../../proto/roster.ts';
import type { CallRequest, WireMessage } from '../../proto/wire.ts';
import { faultEngine } from '../../scenarios/faults/engine.ts';
import { frameText } from '../../scenarios/faults/frame-text.ts';
import type { FaultStatus, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { SimulatedCalls } from './calls.ts';
import { SimClient } from './client.ts';
import { Deliveries, type DeliveriesSnapshot, type Delivery } from './deliveries.ts';
import { ExternalEnds, type ExternalProcess } from './external-processes.ts';
import { performOrder } from './fault-effects.ts';
import { FaultService } from './fault-service.ts';
import { identitiesOf } from './identities.ts';
import { ClusterLinks, linkTimeoutDefaultMs } from './links.ts';
import { MachineLives } from './machine-lives.ts';
import {
  type CoordinatorSnapshot,
  type MemoryNodeStore,
  memoryNodeStore,
  type NodeSnapshot,
  type SyncStore,
} from './memory-stores.ts';
import type { Bug, SimOptions } from './options.ts';
import { nodeName, noLife, Processes, type ProcessState } from './processes.ts';
import { randomStream } from './random.ts';
import { Recorder } from './recorder.ts';
import { type ClusterMember, SharedWorld } from './shared.ts';
import { Starts } from './starts.ts';
import { StoreCopies } from './store-copies.ts';
import { SimToken } from './token.ts';
import { SimVendor } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';

export { SimCall, type SimCaller } from './client.ts';
export type { Delivery } from './deliveries.ts';
export type { Bug, FrameFate, SimOptions } from './options.ts';
export type { ProcessState } from './processes.ts';

const deliveryScheduleDefaultMs: readonly number[] = [200, 1_000, 5_000];

/** The result of `snapshot`; only `restore` reads it. */
export interface SimSnapshot {
  readonly coordinator: CoordinatorSnapshot;
  readonly nodes: readonly NodeSnapshot[];
  readonly deliveries: DeliveriesSnapshot | undefined;
}

/** One simulated gateway makes calls for a tenant. */
export class SimCluster extends SimClient implements ClusterMember {
  override readonly time: VirtualTime;
  readonly roster: Roster;
  /** Every frame, event, process and fault, one line each: the trace. Empty without `keepTrace`. */
  readonly trace: string[] = [];
  /** The events of actors. Empty without `keepTrace`. */
  readonly events: { readonly address: Address; readonly event: ActorEvent }[] = [];
  /** Actors that threw, with `onBug: 'record'`. */
  readonly bugs: Bug[] = [];
  /** Of its gateway. */
  readonly calls: SimulatedCalls;
  /** The vendor of MPC_VENDOR keys. */
  readonly vendor: SimVendor;
  readonly #options: SimOptions;
  readonly #number: number;
  readonly #shared: SharedWorld;
  readonly #identities: readonly Uint8Array[];
  readonly #nodeStores: readonly MemoryNodeStore[];
  readonly #tokens: readonly SimToken[];
  readonly #recorder: Recorder;
  readonly #processes: Processes;
  readonly #faultService: FaultService;
  readonly #deliveries: Deliveries | undefined;
  readonly #external: readonly ExternalProcess[];
  readonly #ends: ExternalEnds;
  readonly #links: ClusterLinks;
  readonly #machines: MachineLives;
  #externalCalls = 0n;
  protected override readonly send: SimClient['send'] = (call, done) => this.calls.start(call, done);

  constructor(options: SimOptions) {
    super();
    const { number = firstCluster, shared = new SharedWorld(options.time), observe, record } = options;
    const { redis, store: coordinatorStore } = shared;
    shared.join(this);
    this.#options = options;
    this.#number = number;
    this.#shared = shared;
    const { time } = shared;
    const { nodes: identities, gateway, roster } = identitiesOf(options, shared.gatewaySeed);
    shared.gatewaySeed = gateway;
    this.time = time;
    this.#identities = identities;
    this.roster = roster;
    const trace = options.keepTrace === false ? undefined : this.trace;
    const recorder = new Recorder({ time, trace, observe, record, frameText: options.frameText ?? frameText });
    const processes = new Processes({
      ...{ time, startsBefore: options.startsBefore, cluster: number, table: shared.processes },
      told: (...of) => recorder.process(...of),
    });
    const random = (label: string): RandomBytes =>
      (options.randomOf ?? ((name) => randomStream(options.seed, name)))(label);
    const nodeStores = identities.map(() => memoryNodeStore());
    const tokens = identities.map((_, index) => {
      const process = nodeName(index + 1);
      const failed = (fault: string) => observe?.({ kind: 'token', atMs: recorder.atMs, process, fault });
      return new SimToken(time, random(`token/${index + 1}`), () => this.#faultService.hsmFails(process), failed);
    });
    const vendor = new SimVendor(time, random('vendor'), (...of) => this.#machines.calledBack(...of), {
      ...options.vendor,
      changed: observe && ((order) => observe({ kind: 'vendor', atMs: recorder.atMs, order })),
    });
    this.#recorder = recorder;
    this.#processes = processes;
    this.#nodeStores = nodeStores;
    this.#tokens = tokens;
    this.vendor = vendor;
    this.calls = new SimulatedCalls({
      ...{ time, roster, orders: orderIssuer({ roster, identitySeed: gateway, random: random('gateway') }) },
      nowMs: () => processes.nowMs('gateway'),
      send: (envelope) => this.#links.network.send('gateway', 'out', envelope),
      stateOf: () => processes.stateOf('gateway'),
      observed: (...of) => recorder.call(...of),
    });
    const deliveries = options.receiver === true ? this.#webhooks(random('worker')) : undefined;
    this.#deliveries = deliveries;
    this.#external = this.#externalProcesses();
    this.#ends = new ExternalEnds(this.#external, number);
    this.#faultService = this.#faults(random('faults'));
    const faultService = this.#faultService;
    this.#links = new ClusterLinks(
      {
        ...{ time, recorder, processes, faultService, random, ends: this.#ends },
        machines: () => this.#machines,
        left: (received) => this.calls.promised(received),
      },
      roster.nodes.map(({ id }) => nodeName(id)),
      options,
    );
    const stores = { redis, nodeStores, coordinatorStore, deliveries };
    const starts = new Starts(options, {
      ...{ time, roster, identities, tokens, vendor, recorder, processes, faultService, random, ...stores },
      ...{ network: this.#links.network, events: this.events, bugs: this.bugs },
    });
    this.#machines = new MachineLives({ starts, links: this.#links, processes, ...stores });
    if (options.shared === undefined) this.open();
  }

  /** Starts all processes. */
  open(): void {
    const { sweeping, sweepEveryMs: everyMs, faults = [] } = this.#options;
    if (this.#number === firstCluster) {
      this.#processes.add('redis', {
        start: () => this.#redisIs(true),
        crash: () => this.#redisIs(false),
        pause: () => {
          this.#shared.redis.set(false);
          this.#options.external?.redisIs(false);
        },
        resume: () => this.#redisIs(true),
      });
    }
    this.#processes.add('coordinator', this.#machines.ofCoordinator());
    for (const { id } of this.roster.nodes) this.#processes.add(nodeName(id), this.#machines.ofNode(id));
    const added = new Set<ProcessName>();
    for (const { name, life, link } of this.#external) {
      if (!added.has(name)) this.#processes.add(name, link === undefined ? life : this.#links.lifeOf(name, life));
      added.add(name);
    }
    for (const process of this.#processes.names()) this.#processes.start(process, true);
    if (sweeping === true) this.#sweepForEver(everyMs);
    for (const fault of faults) this.arm(fault);
  }

  // --- parts -------------------------------------------------------------------------------------------------------

  /** Those of another room come first, and live with the first cluster; the cluster's own take the places that they leave. */
  #externalProcesses(): readonly ExternalProcess[] {
    const all = this.#options.external?.all ?? [];
    const here =
      this.#number === firstCluster
        ? all
        : all.flatMap((one) => (one.link === undefined ? [] : [{ ...one, life: noLife }]));
    const { calls } = this;
    const deliveries = this.#deliveries;
    return [
      ...here,
      { name: 'gateway', life: calls.life, link: () => calls.link },
      ...(deliveries ? [{ name: 'worker', life: deliveries.life }] : []),
      ...(deliveries ? [{ name: 'receiver', life: noLife }] : []),
    ];
  }

  #webhooks(random: RandomBytes): Deliveries {
    const { store, redis } = this.#shared;
    return new Deliveries({
      ...{ time: this.time, random },
      scheduleMs: this.#options.deliveryScheduleMs ?? deliveryScheduleDefaultMs,
      events: (tenant) => store.events(tenant),
      tenants: () => store.tenants(),
      stateOf: (process) => this.stateOf(process),
      isRedisUp: () => redis.isUp,
      tried: (...of) => this.#recorder.delivery(...of),
    });
  }

  #faults(random: RandomBytes): FaultService {
    const { engine, linkTimeoutMs = linkTimeoutDefaultMs, external, externalCounts } = this.#options;
    const { roster, vendor } = this;
    const [recorder, processes, deliveries] = [this.#recorder, this.#processes, this.#deliveries];
    const copies = new StoreCopies({
      ...{ nodeStores: this.#nodeStores, coordinatorStore: this.#shared.store, deliveries },
    });
    const made = () =>
      faultEngine({
        ...{ nodesTotal: roster.nodes.length, random, roster, linkTimeoutMs, ...externalCounts },
        identitySeed: (id) => this.#identities[id - 1],
        hasPorts: external !== undefined,
        world: 'simulated',
      });
    return new FaultService({
      time: this.time,
      engine: engine ?? made(),
      perform: (order) => {
        if (external?.perform(order) === true) return;
        const secondCoordinator = (on: boolean) => this.#machines.second(on);
        const { network } = this.#links;
        performOrder(order, { processes, network, recorder, deliveries, vendor, copies, secondCoordinator });
      },
      told: (...of) => recorder.fault(...of),
    });
  }

  // --- Redis, as all clusters of the world have it -----------------------------------------------------------------

  #redisIs(up: boolean): void {
    this.#shared.redisIs(up);
    this.#options.external?.redisIs(up);
    if (up) this.#deliveries?.wake();
  }

  redisAnswers(ready: boolean): void {
    this.#machines.tell({ kind: 'storeStatus', ready });
  }

  logged(tenant: string, event: LoggedEvent, sequence: number): void {
    this.#recorder.logged(tenant, event, sequence);
  }

  logGrew(): void {
    // At a whole millisecond, as everything except the moment of a write.
    const { time } = this;
    const deliveries = this.#deliveries;
    if (deliveries) time.after(Math.floor(time.nowMs()) + 2 - time.nowMs(), () => deliveries.wake());
  }

  // --- external processes ------------------------------------------------------------------------------------------

  /** An external process sends a message to the coordinator. */
  sendFrom(from: ProcessName, message: WireMessage, trace: Trace): UndeliveredReason | undefined {
    const { tenant, body } = message;
    if (body.case === 'call' && body.value.request?.case !== undefined) {
      // Their call ids are negative, apart from those of the cluster's own gateway.
      this.#externalCalls -= 1n;
      const { request, walletService = false } = body.value;
      const call = { tenant, callId: this.#externalCalls, request: request as CallRequest, walletService };
      this.#recorder.call({ kind: 'called' }, call);
    }
    const address = this.#ends.of(from)[0]?.address() ?? from;
    return this.#links.network.send(from, 'out', { from: address, to: 'coordinator', message, trace });
  }

  /** The fate of a call of a port; undefined: no fault is armed. The caller performs its orders. */
  portCall: FaultService['portCall'] = (call) => this.#faultService.portCall(call);
  /** The fate of a request to a gateway; undefined: no fault is armed. */
  request: FaultService['request'] = (request) => this.#faultService.request(request);
  perform: FaultService['perform'] = (orders) => this.#faultService.perform(orders);

  /** The time that the clock of a process shows. */
  nowMs(process: ProcessName): number {
    return this.#processes.nowMs(process);
  }

  /** Milliseconds since the world began. */
  get scenarioMs(): number {
    return this.#recorder.atMs;
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
    return this.#processes.names();
  }

  stateOf(process: ProcessName): ProcessState {
    return this.#processes.stateOf(process);
  }

  /** Of its latest start. */
  bootOf(process: ProcessName): string {
    return this.#processes.bootOf(process);
  }

  /** The number of its starts. */
  startsOf(process: ProcessName): number {
    return this.#processes.startsOf(process);
  }

  /** Whether a node or gateway has its link to the coordinator. */
  isLinked(process: ProcessName): boolean {
    return this.#links.network.isUp(process);
  }

  /** Starts a process that is down, linked at once. */
  start(process: ProcessName): void {
    this.#processes.start(process, true);
  }

  /** It restarts after `restartAfterMs`; by default only `start` restarts it. */
  crash(process: ProcessName, options: { readonly loseState?: boolean; readonly restartAfterMs?: number } = {}): void {
    this.#processes.crash(process, options.loseState ?? false, options.restartAfterMs ?? null);
  }

  pause(process: ProcessName): void {
    this.#processes.pause(process);
  }

  resume(process: ProcessName): void {
    this.#processes.resume(process);
  }

  /** Nodes that are linked to the coordinator. */
  nodesReady(): number {
    return this.roster.nodes.filter(({ id }) => this.#links.network.isUp(nodeName(id))).length;
  }

  /** Whether the gateway has a link to the coordinator. */
  get isGatewayLinked(): boolean {
    return this.#links.network.isUp('gateway');
  }

  /** The offset of a process's clock from virtual time. */
  clockOffsetMs(process: ProcessName): number {
    return this.#processes.clockOffsetMs(process);
  }

  /** Sets every clock forward. Timers ignore it, and virtual time does not pass. */
  advance(byMs: number): void {
    const processes = this.#processes;
    processes.advance(byMs);
    for (const process of [...this.roster.nodes.map(({ id }) => nodeName(id)), 'coordinator']) {
      this.#recorder.clock(process, processes.clockOffsetMs(process));
    }
  }

  /** Sets the offset of every clock to this value, whatever faults did to it. `ownMs`: of processes, beside that. */
  rightClocks(offsetMs = 0, ownMs: Readonly<Record<string, number>> = {}): void {
    this.#faultService.rightClocks();
    this.#processes.rightClocks(offsetMs, ownMs);
  }

  // --- faults ------------------------------------------------------------------------------------------------------

  /** Returns the fault's id. Throws FaultError when the fault makes no sense for this cluster. */
  arm(fault: Fault): string {
    return this.#faultService.arm(fault);
  }

  /** Returns whether a fault with that id existed. */
  disarm(id: string): boolean {
    return this.#faultService.disarm(id);
  }

  /** Ends all faults; releases the frames that they hold. */
  clearFaults(): void {
    this.#faultService.clear();
  }

  faultStatuses(): readonly FaultStatus[] {
    return this.#faultService.list();
  }

  /** Announces a step of a scenario, for triggers that name it. */
  step(name: string): void {
    this.#faultService.step(name);
  }

  /** Ends every fault, and starts or resumes every process. Clocks keep their offsets. */
  heal(): void {
    this.#faultService.clear();
    for (const process of this.#processes.names()) {
      this.#processes.resume(process);
      this.#processes.start(process, false);
    }
    this.#recorder.healed();
  }

  // --- what is durable ---------------------------------------------------------------------------------------------

  /** A node's Ed25519 seed, for tests in which it lies under its own signature. */
  identitySeed(id: number): Uint8Array {
    return this.#identities[id - 1]!;
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
    return this.#shared.store.as(Number.MAX_SAFE_INTEGER, this.#number).loadNow(key);
  }

  /** The tenant's event log, oldest first: an event's sequence is its index, counted from 1. */
  eventLog(tenant: string): readonly LoggedEvent[] {
    return this.#shared.store.events(tenant);
  }

  /** The nodes whose store has a share of the key. */
  holdersOf(tenant: string, keyId: string): readonly number[] {
    const ids = this.roster.nodes.map(({ id }) => id);
    return ids.filter((id) => this.nodeStore(id).loadNow(nodesKeyRecordKey(tenant, keyId)) !== undefined);
  }

  /** The store of a node, for tests that act as a thief. */
  nodeStore(id: number): SyncStore<NodeWrite, NodeRecord> {
    return this.#nodeStores[id - 1]!;
  }

  /** The PKCS#11 token of a node. */
  token(id: number): SimToken {
    return this.#tokens[id - 1]!;
  }

  /** All durable state. */
  snapshot(): SimSnapshot {
    return {
      coordinator: this.#shared.store.snapshot(),
      nodes: this.#nodeStores.map((store) => store.snapshot()),
      deliveries: this.#deliveries?.snapshot(),
    };
  }

  /**
   * Restarts every process from that durable state; all that was in memory, nonces too, is void. Processes in `except` continue:
   * they must clear their memory themselves.
   */
  restore(snapshot: SimSnapshot, except: readonly ProcessName[] = []): void {
    const restarted = this.processes().filter((process) => !except.includes(process));
    for (const process of restarted) this.crash(process);
    this.#shared.store.restore(snapshot.coordinator);
    for (const [index, store] of this.#nodeStores.entries()) store.restore(snapshot.nodes[index]!);
    if (snapshot.deliveries) this.#deliveries?.restore(snapshot.deliveries);
    for (const process of restarted) this.start(process);
  }

  // --- webhooks and expiry -----------------------------------------------------------------------------------------

  /** Every try to deliver an event so far. */
  deliveries(): readonly Delivery[] {
    return this.#deliveries?.log() ?? [];
  }

  /** The type of every event that the receiver has acknowledged, in the order of the acknowledgements. */
  delivered(): readonly string[] {
    return this.#deliveries?.delivered() ?? [];
  }

  /** Deliveries in progress, and invalid jobs of the worker's queue. */
  get queue(): { readonly outstanding: number; readonly putAside: number } {
    return { outstanding: this.#deliveries?.outstanding ?? 0, putAside: this.#deliveries?.putAside ?? 0 };
  }

  /** Starts one scan for expired sessions. A live coordinator scans by itself, a simulated one with `sweeping`. */
  sweep(): void {
    const message = { kind: 'sweep' } as const;
    for (const coordinator of [this.#machines.coordinator, this.#machines.replaced])
      coordinator?.deliver({ from: 'runtime', to: expiryAddress, message, trace: noTrace });
  }

  /** It does not count as outstanding work: see virtual-time.ts. */
  #sweepForEver(everyMs = sweepEveryMs): void {
    const { external } = this.#options;
    const again = () => {
      // Without an ended lifetime a scan changes nothing, and a world may be idle for days.
      if (external?.sessions !== undefined || this.#shared.store.nextEndMs() <= this.nowMs('coordinator')) this.sweep();
      this.time.after(everyMs, again, true);
    };
    this.time.after(everyMs, again, true);
  }
}
