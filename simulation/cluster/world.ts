/**
 * Assembles the simulated world: processes, links, stores, the gateway's calls, the webhooks' worker, and the fault engine whose
 * orders it performs. simulation/cluster/cluster.ts is its public interface.
 */

import { clusterAddress, type LocalMessage } from '../../coordinator/contract/messages.ts';
import { failureReply } from '../../coordinator/failure-replies.ts';
import { peerOf } from '../../core/actors/address.ts';
import type { ActorEvent, Address, Envelope, UndeliveredReason } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { orderIssuer } from '../../gateway/signing/order-issuer.ts';
import { vendorNews } from '../../nodes/vendor/routing.ts';
import type { Roster } from '../../proto/roster.ts';
import type { CallRequest, WireMessage } from '../../proto/wire.ts';
import { faultEngine } from '../../scenarios/faults/engine.ts';
import { frameText } from '../../scenarios/faults/frame-text.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { type CallUnderWay, SimulatedCalls } from './calls.ts';
import { Deliveries } from './deliveries.ts';
import {
  type ExternalProcesses,
  type ExternalProcessHost,
  ExternalProcessLinks,
  noExternalProcesses,
} from './external-processes.ts';
import { performOrder } from './fault-effects.ts';
import { FaultService } from './fault-service.ts';
import type { ReceivedEnvelope } from './frame-codec.ts';
import { frameFilter } from './frame-filter.ts';
import { identitiesOf } from './identities.ts';
import type { CoordinatorMachine, NodeMachine } from './members.ts';
import {
  emptyCoordinatorSnapshot,
  type MemoryCoordinatorStore,
  type MemoryNodeStore,
  memoryNodeStore,
} from './memory-stores.ts';
import { type Direction, SimulatedNetwork } from './network.ts';
import type { Bug, SimOptions } from './options.ts';
import { type Life, Processes } from './processes.ts';
import { randomStream } from './random.ts';
import { Recorder } from './recorder.ts';
import { type ClusterMember, SharedWorld } from './shared.ts';
import { Starts } from './starts.ts';
import { StoreCopies } from './store-copies.ts';
import type { Redis } from './store-side.ts';
import { SimToken } from './token.ts';
import { SimVendor } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';

const linkTimeoutDefaultMs = 6_000;
const backOff = { minMs: 50, maxMs: 100 } as const;
const deliveryScheduleDefaultMs: readonly number[] = [200, 1_000, 5_000];

export class SimWorld implements ClusterMember {
  readonly time: VirtualTime;
  readonly roster: Roster;
  readonly trace: string[] = [];
  readonly events: { readonly address: Address; readonly event: ActorEvent }[] = [];
  readonly bugs: Bug[] = [];
  readonly identities: readonly Uint8Array[];
  readonly nodeStores: readonly MemoryNodeStore[];
  readonly tokens: readonly SimToken[];
  readonly vendor: SimVendor;
  readonly coordinatorStore: MemoryCoordinatorStore;
  readonly recorder: Recorder;
  readonly processes: Processes;
  readonly network: SimulatedNetwork;
  readonly calls: SimulatedCalls;
  readonly faultService: FaultService;
  readonly deliveries: Deliveries | undefined;
  readonly copies = new StoreCopies(() => this);
  readonly guests: ExternalProcesses;
  readonly #externalLinks: ExternalProcessLinks;
  readonly #options: SimOptions;
  readonly #shared: SharedWorld;
  readonly #redis: Redis;
  readonly #starts: Starts;
  readonly #nodes = new Map<number, NodeMachine>();
  /** The process at the other end of each link. */
  readonly #linked = new Map<ProcessName, { readonly address: Address; readonly boot: string }>();
  /** By peer and boot: news of a node's lost link that the coordinator has not heard yet. */
  readonly #lateNews = new Map<string, () => void>();
  #coordinator: CoordinatorMachine | undefined;
  /** Another coordinator has taken its place; it runs on, without links. */
  #replaced: CoordinatorMachine | undefined;
  #guestCalls = 0n;

  constructor(options: SimOptions) {
    this.#options = options;
    const { number = firstCluster, shared = new SharedWorld(options.time) } = options;
    this.#shared = shared;
    shared.join(this);
    this.time = shared.time;
    this.#redis = shared.redis;
    this.coordinatorStore = shared.store;
    const { time } = this;
    const { nodes, gateway: gatewaySeed, roster } = identitiesOf(options, shared.gatewaySeed);
    shared.gatewaySeed = gatewaySeed;
    this.identities = nodes;
    this.roster = roster;
    const trace = options.keepTrace === false ? undefined : this.trace;
    this.recorder = new Recorder({
      ...{ time, trace, observe: options.observe, record: options.record },
      frameText: options.frameText ?? frameText,
    });
    this.processes = new Processes({
      ...{ time, startsBefore: options.startsBefore, cluster: number, table: shared.processes },
      told: (process, what, boot, storeLost) => this.recorder.process(process, what, boot, storeLost),
    });
    this.nodeStores = this.identities.map(() => memoryNodeStore());
    this.tokens = this.identities.map(
      (_, index) =>
        new SimToken(
          time,
          this.#random(`token/${index + 1}`),
          () => this.faultService.hsmFails(`node/${index + 1}`),
          (fault) =>
            options.observe?.({ kind: 'token', atMs: this.recorder.atMs, process: nodeName(index + 1), fault }),
        ),
    );
    this.vendor = new SimVendor(time, this.#random('vendor'), (...of) => this.#calledBack(...of), {
      ...options.vendor,
      changed: options.observe && ((order) => options.observe?.({ kind: 'vendor', atMs: this.recorder.atMs, order })),
    });
    this.faultService = this.#faultService();
    this.calls = this.#gatewayCalls(gatewaySeed);
    this.guests = options.guests?.(this.#externalHost(gatewaySeed)) ?? noExternalProcesses;
    this.#externalLinks = new ExternalProcessLinks(this.guests.all);
    this.network = this.#links();
    this.deliveries = options.receiver === true ? this.#webhooks() : undefined;
    this.#starts = new Starts(options, this, this.#redis);
    this.#addProcesses(number);
    for (const process of this.processes.names()) this.processes.start(process, true);
  }

  /** The one with the links, and one that it has replaced. */
  get coordinators(): readonly CoordinatorMachine[] {
    return [this.#coordinator, this.#replaced].flatMap((each) => each ?? []);
  }

  #random(label: string) {
    const { seed, randomOf } = this.#options;
    return randomOf === undefined ? randomStream(seed, label) : randomOf(label);
  }

  // --- processes ---------------------------------------------------------------------------------------------------

  #addProcesses(number: number): void {
    const { processes } = this;
    if (number === firstCluster) {
      processes.add('redis', {
        start: () => this.#redisIs(true),
        crash: () => this.#redisIs(false),
        pause: () => {
          this.#redis.set(false);
          this.guests.redisIs?.(false);
        },
        resume: () => this.#redisIs(true),
      });
    }
    processes.add('coordinator', this.#coordinatorLife());
    for (const { id } of this.roster.nodes) processes.add(nodeName(id), this.#nodeLife(id));
    for (const { name, life, link } of this.guests.all) {
      processes.add(name, link === undefined ? life : this.#linkedLife(name, life));
    }
    if (this.#externalLinks.of('gateway') === undefined) {
      processes.add(
        'gateway',
        this.#linkedLife('gateway', {
          start: () => undefined,
          crash: () => this.calls.crashed(),
          pause: () => undefined,
          resume: () => this.calls.resumed(),
        }),
      );
    }
    if (!this.deliveries) return;
    processes.add('worker', this.deliveries.life);
    processes.add('receiver', {
      start: () => undefined,
      crash: () => undefined,
      pause: () => undefined,
      resume: () => undefined,
    });
  }

  /** A process and its links. */
  #linkedLife(process: ProcessName, life: Life): Life {
    const { network } = this;
    return {
      start: (boot, atOnce) => {
        life.start(boot, atOnce);
        network.started(process, atOnce);
      },
      crash: (loseState) => {
        life.crash(loseState);
        network.crashed(process);
      },
      pause: () => {
        life.pause();
        network.paused(process);
      },
      resume: () => {
        life.resume();
        network.resumed(process);
      },
    };
  }

  #coordinatorLife(): Life {
    return this.#linkedLife('coordinator', {
      start: (boot) => {
        this.#coordinator = this.#starts.coordinator(boot, (envelope) =>
          boot === this.processes.bootOf('coordinator') ? this.#fromCoordinator(envelope) : undefined,
        );
        if (!this.#redis.isUp) this.#tell({ kind: 'storeStatus', ready: false });
      },
      crash: (loseState) => {
        this.#coordinator?.crash();
        this.#coordinator = undefined;
        if (!loseState) return;
        this.coordinatorStore.restore(emptyCoordinatorSnapshot);
        this.deliveries?.restore({ cursors: new Map(), outstanding: new Map() });
      },
      pause: () => this.#coordinator?.pause(),
      resume: () => this.#coordinator?.resume(),
    });
  }

  /**
   * `on`: another coordinator starts while this one runs. The gateway's link goes to the new one; those of nodes stay with the
   * first, which hears them, but no frame of it arrives. Otherwise the first one ends.
   */
  secondCoordinator(on: boolean): void {
    this.#replaced?.crash();
    this.#replaced = undefined;
    this.network.release();
    if (!on || this.processes.stateOf('coordinator') !== 'up') return;
    this.#replaced = this.#coordinator;
    this.#coordinator = undefined;
    this.network.holdNodes();
    this.processes.crash('coordinator', false, null);
    this.processes.start('coordinator', false);
  }

  #nodeLife(id: number): Life {
    return this.#linkedLife(nodeName(id), {
      start: (boot) => this.#nodes.set(id, this.#starts.node(id, boot)),
      crash: (loseState) => {
        this.#nodes.get(id)?.crash();
        this.#nodes.delete(id);
        if (loseState) this.nodeStores[id - 1]!.restore(new Map());
      },
      pause: () => this.#nodes.get(id)?.pause(),
      resume: () => this.#nodes.get(id)?.resume(),
    });
  }

  /** The vendor calls back the process of a node. */
  #calledBack(nodeId: number, tenant: string, reference: string): boolean {
    const node = this.#nodes.get(nodeId);
    return node !== undefined && node.deliver(vendorNews(nodeId, tenant, reference)) === undefined;
  }

  #redisIs(up: boolean): void {
    this.#shared.redisIs(up);
    this.guests.redisIs?.(up);
    if (up) this.deliveries?.wake();
  }

  redisAnswers(ready: boolean): void {
    this.#tell({ kind: 'storeStatus', ready });
  }

  logged(tenant: string, event: LoggedEvent, sequence: number): void {
    this.recorder.logged(tenant, event, sequence);
  }

  logGrew(): void {
    // At a whole millisecond, as everything except the moment of a write.
    const { time } = this;
    if (this.deliveries) time.after(Math.floor(time.nowMs()) + 2 - time.nowMs(), () => this.deliveries?.wake());
  }

  #tell(message: LocalMessage): void {
    this.#coordinator?.deliver({ from: 'runtime', to: clusterAddress, message, trace: noTrace });
  }

  // --- links -------------------------------------------------------------------------------------------------------

  #links(): SimulatedNetwork {
    const { codec = 'bytes', latency = { minMs: 1, maxMs: 1 }, linkTimeoutMs = linkTimeoutDefaultMs } = this.#options;
    const { recorder } = this;
    return new SimulatedNetwork(
      {
        time: this.time,
        codec,
        latency,
        linkTimeoutMs,
        backOff,
        random: (label) => this.#random(label),
        filter: frameFilter(this.faultService, this.#options.onFrame),
        left: recorder.seesFrames
          ? (received, ...rest) => {
              recorder.frame(received, ...rest);
              this.#promised(received);
            }
          : undefined,
        arrive: (peer, direction, envelope) => this.#arrive(peer, direction, envelope),
        stateOf: (process) => this.processes.stateOf(process),
        onUp: (peer, bySecond) => this.#linkUp(peer, bySecond),
        onDown: (peer, why) => this.#linkDown(peer, why),
      },
      [...new Set([...this.roster.nodes.map(({ id }) => nodeName(id)), ...this.#externalLinks.names, 'gateway'])],
    );
  }

  #fromCoordinator(envelope: Envelope<WireMessage>): UndeliveredReason | undefined {
    const { to } = envelope;
    if (to.startsWith('node/')) {
      const peer = peerOf(to);
      return this.network.isHeld(peer) ? 'noRoute' : this.network.send(peer, 'in', envelope);
    }
    if (to === this.calls.address) return this.network.send('gateway', 'in', envelope);
    const guest = this.#externalLinks.nameAt(to);
    return guest === undefined ? 'noRoute' : this.network.send(guest, 'in', envelope);
  }

  #arrive(peer: ProcessName, direction: Direction, envelope: ReceivedEnvelope): void {
    if (direction === 'in') {
      if (this.#externalLinks.arrived(peer, envelope)) return;
      if (peer === 'gateway') this.calls.arrived(envelope.to, envelope.message);
      else this.#nodes.get(nodeIdOf(peer))?.deliver(envelope);
    } else if (this.network.isHeld(peer)) {
      this.#replaced?.arrived(envelope);
    } else if (this.#coordinator?.arrived(envelope) !== undefined) {
      const reply = failureReply(envelope, 'overloaded');
      if (reply) this.#fromCoordinator(reply);
    }
  }

  #linkUp(peer: ProcessName, bySecond: boolean): void {
    const guest = this.#externalLinks.of(peer);
    const address = guest?.address() ?? (peer === 'gateway' ? this.calls.address : peer);
    const linked = { address, boot: bySecond ? `${peer}#second` : this.processes.bootOf(peer) };
    this.#linked.set(peer, linked);
    this.recorder.link(peer, 'linkUp', linked.boot);
    // The link server ends the older link of one process before it admits the next.
    this.#lateNews.get(`${peer} ${linked.boot}`)?.();
    this.#tellOfPeer('peerUp', peer);
    guest?.linked(true);
  }

  #linkDown(peer: ProcessName, why: string): void {
    this.recorder.link(peer, 'linkDown', why);
    this.faultService.linkDown(peer);
    if (!this.network.isHeld(peer)) this.#tellLinkDown(peer);
    this.#externalLinks.of(peer)?.linked(false);
    if (peer !== 'gateway') return;
    this.calls.linkLost();
  }

  #tellOfPeer(kind: 'peerUp' | 'peerDown', peer: ProcessName, linked = this.#linked.get(peer)!): void {
    const nodeId = nodeIdOf(peer);
    const role = nodeId === 0 ? 'gateway' : 'node';
    this.#tell({ kind, ...linked, role, nodeId });
  }

  /** At once, or later: then the peer's next process may have its link already. */
  #tellLinkDown(peer: ProcessName): void {
    const { linkNewsMs = 0 } = this.#options;
    if (linkNewsMs === 0 || nodeIdOf(peer) === 0) {
      this.#tellOfPeer('peerDown', peer);
      return;
    }
    const coordinator = this.#coordinator;
    const linked = this.#linked.get(peer)!;
    const name = `${peer} ${linked.boot}`;
    const tell = () => {
      cancel();
      if (this.#lateNews.get(name) === tell) this.#lateNews.delete(name);
      if (this.#coordinator === coordinator) this.#tellOfPeer('peerDown', peer, linked);
    };
    const cancel = this.time.after(linkNewsMs, tell);
    this.#lateNews.set(name, tell);
  }

  #promised({ to, message: { body } }: ReceivedEnvelope): void {
    const { observe } = this.#options;
    if (observe === undefined || to !== this.calls.address || body.case !== 'callReply') return;
    const { callId, outcome } = body.value;
    const call = this.calls.find(callId);
    if (call === undefined || outcome.case === undefined || outcome.case === 'error') return;
    observe({ kind: 'promised', ...this.#about(call), response: outcome.value });
  }

  // --- calls, webhooks, faults -------------------------------------------------------------------------------------

  #about({ request: { case: method, value: request }, ...call }: CallUnderWay) {
    const { tenant, callId, walletService = false, walletTerms, keyScheme } = call;
    return {
      ...{ atMs: this.recorder.atMs, tenant, callId, method, request, walletService },
      ...(walletTerms && { walletTerms }),
      ...(keyScheme !== undefined && { keyScheme }),
    } as const;
  }

  #gatewayCalls(identitySeed: Uint8Array): SimulatedCalls {
    const { observe } = this.#options;
    const { time, roster, processes } = this;
    return new SimulatedCalls({
      ...{ time, roster, orders: orderIssuer({ roster, identitySeed, random: this.#random('gateway') }) },
      nowMs: () => processes.nowMs('gateway'),
      send: (envelope) => this.network.send('gateway', 'out', envelope),
      stateOf: () => processes.stateOf('gateway'),
      called: observe && ((call) => observe({ kind: 'called', ...this.#about(call) })),
      answered: observe && ((call, response) => observe({ kind: 'answered', ...this.#about(call), response })),
      failed: observe && ((call, error) => observe({ kind: 'failed', ...this.#about(call), error })),
    });
  }

  #webhooks(): Deliveries {
    return new Deliveries({
      time: this.time,
      scheduleMs: this.#options.deliveryScheduleMs ?? deliveryScheduleDefaultMs,
      random: this.#random('worker'),
      events: (tenant) => this.coordinatorStore.events(tenant),
      tenants: () => this.coordinatorStore.tenants(),
      stateOf: (process) => this.processes.stateOf(process),
      isRedisUp: () => this.#redis.isUp,
      tried: (...of) => this.recorder.delivery(...of),
    });
  }

  #externalHost(gatewaySeed: Uint8Array): ExternalProcessHost {
    const { time, roster, processes } = this;
    return {
      ...{ time, roster, gatewaySeed, processes },
      send: (from, message, trace) => {
        const address = this.#externalLinks.of(from)?.address() ?? from;
        this.#guestCalled(message);
        return this.network.send(from, 'out', { from: address, to: 'coordinator', message, trace });
      },
      portCall: (call) => this.faultService.portCall(call),
      request: (request) => this.faultService.request(request),
      perform: (orders) => this.faultService.perform(orders),
    };
  }

  /** Shows checkers the guests' calls; their call ids are negative, apart from the world's own. */
  #guestCalled({ tenant, body }: WireMessage): void {
    const { observe } = this.#options;
    if (observe === undefined || body.case !== 'call' || body.value.request?.case === undefined) return;
    const { request, walletService = false } = body.value;
    this.#guestCalls -= 1n;
    const call = { tenant, callId: this.#guestCalls, request: request as CallRequest, walletService };
    observe({ kind: 'called', ...this.#about(call) });
  }

  #faultService(): FaultService {
    const { engine, linkTimeoutMs = linkTimeoutDefaultMs, guests, externalCounts } = this.#options;
    return new FaultService({
      time: this.time,
      engine:
        engine ??
        faultEngine({
          nodesTotal: this.identities.length,
          random: this.#random('faults'),
          roster: this.roster,
          identitySeed: (id) => this.identities[id - 1],
          linkTimeoutMs,
          ...externalCounts,
          hasPorts: guests !== undefined,
          world: 'simulated',
        }),
      perform: (order) => {
        if (this.guests.perform?.(order) !== true) performOrder(order, this);
      },
      told: (...of) => this.recorder.fault(...of),
    });
  }
}

export function nodeName(id: number): `node/${number}` {
  return `node/${id}`;
}

/** 0 for any process that is no node. */
function nodeIdOf(process: ProcessName): number {
  return process.startsWith('node/') ? Number(process.slice(5)) : 0;
}
