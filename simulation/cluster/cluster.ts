/**
 * A whole simulated cluster in one process: the real actors of nodes/ and coordinator/, a virtual clock, a network that carries
 * encoded frames, stores, a gateway's calls, a receiver of webhooks, and all faults of these parts (scenarios/faults/vocabulary/fault.ts).
 * Deterministic: the same seed and the same calls give the same trace, byte for byte.
 */
import { sweepEveryMs } from '../../coordinator/expiry.ts';
import type { ActorEvent, Address, RandomBytes, Trace, UndeliveredReason } from '../../core/actors/contract.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { orderIssuer } from '../../gateway/signing/order-issuer.ts';
import type { Roster } from '../../proto/roster.ts';
import type { CallRequest, WireMessage } from '../../proto/wire.ts';
import { faultEngine } from '../../scenarios/faults/engine.ts';
import { frameText } from '../../scenarios/faults/frame-text.ts';
import type { FaultEngine, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { SimulatedCalls } from './calls.ts';
import { ClusterControls, type ClusterParts } from './cluster-controls.ts';
import { Deliveries } from './deliveries.ts';
import { ExternalEnds, type ExternalProcess } from './external-processes.ts';
import { performOrder } from './fault-effects.ts';
import { FaultService } from './fault-service.ts';
import { identitiesOf } from './identities.ts';
import { linkTimeoutDefaultMs, SimulatedLinks } from './links.ts';
import { MachineLives } from './machine-lives.ts';
import { memoryNodeStore } from './memory-stores.ts';
import type { Bug, SimOptions } from './options.ts';
import { nodeName, noLife, Processes } from './processes.ts';
import { randomStream } from './random.ts';
import { Recorder } from './recorder.ts';
import { type ClusterMember, SharedWorld } from './shared.ts';
import { StoreCopies } from './store-copies.ts';
import { SimToken } from './token.ts';
import { SimVendor } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';

export { SimCall, type SimCaller } from './client.ts';
export type { SimSnapshot } from './cluster-controls.ts';
export type { Bug, FrameFate, SimOptions } from './options.ts';
export type { ProcessState } from './processes.ts';

const deliveryScheduleDefaultMs: readonly number[] = [200, 1_000, 5_000];

/** One simulated gateway makes calls for a tenant. */
export class SimCluster extends ClusterControls implements ClusterMember {
  override readonly time: VirtualTime;
  override readonly roster: Roster;
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
  readonly #external: readonly ExternalProcess[];
  readonly #ends: ExternalEnds;
  protected override readonly parts: ClusterParts;
  #externalCalls = 0n;
  protected override readonly send: ClusterControls['send'] = (call, done) => this.calls.start(call, done);

  constructor(options: SimOptions) {
    super();
    const { number = firstCluster, shared = new SharedWorld(options.time, options.external?.redis) } = options;
    const { time, redis, processes: table, store: coordinatorStore } = shared;
    shared.join(this);
    this.#options = options;
    this.time = time;
    const { nodes: identities, gateway, roster } = identitiesOf(options, shared.gatewaySeed);
    shared.gatewaySeed = gateway;
    this.roster = roster;
    const { observe, record, startsBefore, seed, randomOf = (label: string) => randomStream(seed, label) } = options;
    const trace = options.keepTrace === false ? undefined : this.trace;
    const recorder = new Recorder({ time, trace, observe, record, frameText: options.frameText ?? frameText });
    const processes = new Processes({
      ...{ time, startsBefore, cluster: number, table },
      told: (...of) => recorder.process(...of),
    });
    const nodeStores = identities.map(() => memoryNodeStore());
    const tokens = identities.map((_, index) => {
      const process = nodeName(index + 1);
      const failed = (fault: string) => observe?.({ kind: 'token', atMs: recorder.atMs, process, fault });
      return new SimToken(time, randomOf(`token/${index + 1}`), () => faultService.hsmFails(process), failed);
    });
    const vendor = new SimVendor(time, randomOf('vendor'), (...of) => machines.calledBack(...of), {
      ...options.vendor,
      changed: observe && ((order) => observe({ kind: 'vendor', atMs: recorder.atMs, order })),
    });
    this.vendor = vendor;
    this.calls = new SimulatedCalls({
      ...{ time, roster, orders: orderIssuer({ roster, identitySeed: gateway, random: randomOf('gateway') }) },
      nowMs: () => processes.nowMs('gateway'),
      send: (envelope) => links.network.send('gateway', 'out', envelope),
      stateOf: () => processes.stateOf('gateway'),
      observed: (...of) => recorder.call(...of),
    });
    const deliveries = options.receiver
      ? new Deliveries({
          ...{ time, random: randomOf('worker'), scheduleMs: options.deliveryScheduleMs ?? deliveryScheduleDefaultMs },
          events: (tenant) => coordinatorStore.events(tenant),
          tenants: () => coordinatorStore.tenants(),
          stateOf: (process) => processes.stateOf(process),
          isRedisUp: () => redis.isUp,
          tried: (...of) => recorder.delivery(...of),
        })
      : undefined;
    const stores = { nodeStores, coordinatorStore, deliveries };
    const copies = new StoreCopies(stores);
    const faultService: FaultService = new FaultService({
      time,
      engine: options.engine ?? this.#engine(identities, randomOf('faults')),
      perform: (order) => {
        if (options.external?.perform(order) === true) return;
        const secondCoordinator = (on: boolean) => machines.second(on);
        const { network } = links;
        performOrder(order, { processes, network, recorder, deliveries, vendor, copies, secondCoordinator });
      },
      told: (...of) => recorder.fault(...of),
    });
    this.#external = this.#externalProcesses(number, deliveries);
    this.#ends = new ExternalEnds(this.#external, number);
    const links: SimulatedLinks = new SimulatedLinks(
      {
        ...{ time, recorder, processes, faultService, random: randomOf, ends: this.#ends },
        machines: () => machines,
        left: (received) => this.calls.promised(received),
      },
      roster.nodes.map(({ id }) => nodeName(id)),
      options,
    );
    const machines: MachineLives = new MachineLives({
      ...{ options, time, roster, identities, tokens, vendor, recorder, processes, faultService, links, redis },
      ...{ ...stores, random: randomOf, events: this.events, bugs: this.bugs },
    });
    this.parts = {
      ...{ number, shared, identities, nodeStores, tokens, recorder, processes, faultService, links, machines },
      deliveries,
    };
    if (options.shared === undefined) this.open();
  }

  #engine(identities: readonly Uint8Array[], random: RandomBytes): FaultEngine {
    const { linkTimeoutMs = linkTimeoutDefaultMs, external, externalCounts } = this.#options;
    const { roster } = this;
    return faultEngine({
      ...{ nodesTotal: roster.nodes.length, random, roster, linkTimeoutMs, ...externalCounts },
      identitySeed: (id) => identities[id - 1],
      hasPorts: external !== undefined,
      world: 'simulated',
    });
  }

  /** Those of another room come first, and live with the first cluster; the cluster's own take the places that they leave. */
  #externalProcesses(number: number, deliveries: Deliveries | undefined): readonly ExternalProcess[] {
    const all = this.#options.external?.all ?? [];
    const linked = all.filter(({ link }) => link !== undefined);
    const { calls } = this;
    return [
      ...(number === firstCluster ? all : linked.map((one) => ({ ...one, life: noLife }))),
      { name: 'gateway', life: calls.life, link: () => calls.link },
      ...(deliveries ? [{ name: 'worker', life: deliveries.life }] : []),
      ...(deliveries ? [{ name: 'receiver', life: noLife }] : []),
    ];
  }

  /** Starts all processes. */
  open(): void {
    const { sweeping, sweepEveryMs: everyMs, faults = [] } = this.#options;
    const { number, shared, processes, links, machines } = this.parts;
    if (number === firstCluster) {
      processes.add('redis', {
        start: () => this.#redisIs(true),
        crash: () => this.#redisIs(false),
        pause: () => shared.redis.set(false),
        resume: () => this.#redisIs(true),
      });
    }
    processes.add('coordinator', machines.ofCoordinator());
    for (const { id } of this.roster.nodes) processes.add(nodeName(id), machines.ofNode(id));
    const added = new Set<ProcessName>();
    for (const { name, life, link } of this.#external) {
      if (!added.has(name)) processes.add(name, link === undefined ? life : links.lifeOf(name, life));
      added.add(name);
    }
    for (const process of processes.names()) processes.start(process, true);
    if (sweeping === true) this.#sweepForEver(everyMs);
    for (const fault of faults) this.arm(fault);
  }

  // --- Redis, as all clusters of the world have it -----------------------------------------------------------------

  #redisIs(up: boolean): void {
    this.parts.shared.redisIs(up);
    if (up) this.parts.deliveries?.wake();
  }

  redisAnswers(ready: boolean): void {
    this.parts.machines.tell({ kind: 'storeStatus', ready });
  }

  logged(tenant: string, event: LoggedEvent, sequence: number): void {
    this.parts.recorder.logged(tenant, event, sequence);
  }

  logGrew(): void {
    // At a whole millisecond, as everything except the moment of a write.
    const { time } = this;
    const deliveries = this.parts.deliveries;
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
      this.parts.recorder.call({ kind: 'called' }, call);
    }
    const address = this.#ends.of(from)[0]?.address() ?? from;
    return this.parts.links.network.send(from, 'out', { from: address, to: 'coordinator', message, trace });
  }

  /** The fate of a call of a port; undefined: no fault is armed. The caller performs its orders. */
  portCall: FaultService['portCall'] = (call) => this.parts.faultService.portCall(call);
  /** The fate of a request to a gateway; undefined: no fault is armed. */
  request: FaultService['request'] = (request) => this.parts.faultService.request(request);
  perform: FaultService['perform'] = (orders) => this.parts.faultService.perform(orders);

  /** It does not count as outstanding work: see virtual-time.ts. */
  #sweepForEver(everyMs = sweepEveryMs): void {
    const { external } = this.#options;
    const again = () => {
      // Without an ended lifetime a scan changes nothing, and a world may be idle for days.
      if (external?.sessions !== undefined || this.parts.shared.store.nextEndMs() <= this.nowMs('coordinator'))
        this.sweep();
      this.time.after(everyMs, again, true);
    };
    this.time.after(everyMs, again, true);
  }
}
