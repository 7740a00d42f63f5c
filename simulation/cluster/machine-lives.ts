/**
 * The lives of the processes with actors: the machines of a cluster's nodes and of its coordinator, and of a second coordinator.
 * Every start has its configuration, its stream of randomness, its store with the faults on the way to it, and its observers.
 */
import type { SessionConfig } from '../../coordinator/contract/config.ts';
import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  type LocalMessage,
} from '../../coordinator/contract/messages.ts';
import type { ActorEvent, Address, Envelope, RandomBytes, WriteOutcome } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { safeErrorText } from '../../core/actors/error-text.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { NodeIdentity } from '../../nodes/behaviours.ts';
import { type NodeRecord, type NodeWrite, vendorRecordName } from '../../nodes/records/records.ts';
import { vendorNews } from '../../nodes/vendor/routing.ts';
import { dkgLifetimeMs, nodesWaitMs, pendingLifetimeMs, signingLifetimeMs } from '../../proto/limits.ts';
import type { Roster } from '../../proto/roster.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Deliveries } from './deliveries.ts';
import type { FaultService } from './fault-service.ts';
import { strangeStore } from './faulty-store.ts';
import type { SimulatedLinks } from './links.ts';
import {
  type CoordinatorMachine,
  coordinatorMachine,
  type MemberPorts,
  type NodeMachine,
  nodeMachine,
} from './members.ts';
import {
  emptyCoordinatorSnapshot,
  type MemoryCoordinatorStore,
  type MemoryNodeStore,
  unreliableStore,
} from './memory-stores.ts';
import type { Bug, SimOptions } from './options.ts';
import { type Life, nodeName, type Processes } from './processes.ts';
import type { Recorder } from './recorder.ts';
import { called, type RedisReach } from './store-side.ts';
import type { SimToken } from './token.ts';
import type { SimVendor } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The parts of the world that a process uses. */
interface LivingParts {
  readonly options: SimOptions;
  readonly time: VirtualTime;
  readonly roster: Roster;
  readonly identities: readonly Uint8Array[];
  readonly nodeStores: readonly MemoryNodeStore[];
  /** The nodes' PKCS#11 tokens. */
  readonly tokens: readonly SimToken[];
  readonly vendor: SimVendor;
  readonly coordinatorStore: MemoryCoordinatorStore;
  readonly redis: RedisReach;
  readonly deliveries: Deliveries | undefined;
  readonly recorder: Recorder;
  readonly processes: Processes;
  readonly links: SimulatedLinks;
  readonly faultService: FaultService;
  readonly random: (label: string) => RandomBytes;
  readonly events: { readonly address: Address; readonly event: ActorEvent }[];
  readonly bugs: Bug[];
}

export class MachineLives {
  readonly #parts: LivingParts;
  readonly #nodes = new Map<number, NodeMachine>();
  #coordinator: CoordinatorMachine | undefined;
  #replaced: CoordinatorMachine | undefined;

  constructor(parts: LivingParts) {
    this.#parts = parts;
  }

  /** The one with the links. */
  get coordinator(): CoordinatorMachine | undefined {
    return this.#coordinator;
  }

  /** Another coordinator has taken its place; it runs on, with the nodes' links only. */
  get replaced(): CoordinatorMachine | undefined {
    return this.#replaced;
  }

  node(id: number): NodeMachine | undefined {
    return this.#nodes.get(id);
  }

  tell(message: LocalMessage): void {
    this.#coordinator?.deliver({ from: 'runtime', to: clusterAddress, message, trace: noTrace });
  }

  /** The vendor calls back the process of a node. */
  calledBack(nodeId: number, tenant: string, reference: string): boolean {
    const node = this.#nodes.get(nodeId);
    return node !== undefined && node.deliver(vendorNews(nodeId, tenant, reference)) === undefined;
  }

  ofCoordinator(): Life {
    const { links, redis, coordinatorStore, deliveries } = this.#parts;
    return links.lifeOf('coordinator', {
      start: (boot) => {
        this.#coordinator = this.#startCoordinator(boot);
        if (!redis.isUp) this.tell({ kind: 'storeStatus', ready: false });
      },
      crash: (loseState) => {
        this.#coordinator?.crash();
        this.#coordinator = undefined;
        if (!loseState) return;
        coordinatorStore.restore(emptyCoordinatorSnapshot);
        deliveries?.restore({ cursors: new Map(), outstanding: new Map() });
      },
      pause: () => this.#coordinator?.pause(),
      resume: () => this.#coordinator?.resume(),
    });
  }

  ofNode(id: number): Life {
    const { links, nodeStores } = this.#parts;
    return links.lifeOf(nodeName(id), {
      start: (boot) => this.#nodes.set(id, this.#startNode(id, boot)),
      crash: (loseState) => {
        this.#nodes.get(id)?.crash();
        this.#nodes.delete(id);
        if (loseState) nodeStores[id - 1]!.restore(new Map());
      },
      pause: () => this.#nodes.get(id)?.pause(),
      resume: () => this.#nodes.get(id)?.resume(),
    });
  }

  /**
   * `on`: another coordinator starts while this one runs. The gateway's link goes to the new one; those of nodes stay with the
   * first, which hears them, but no frame of it arrives. Otherwise the first one ends.
   */
  second(on: boolean): void {
    const { links, processes } = this.#parts;
    this.#replaced?.crash();
    this.#replaced = undefined;
    links.network.release();
    if (!on || processes.stateOf('coordinator') !== 'up') return;
    this.#replaced = this.#coordinator;
    this.#coordinator = undefined;
    links.network.holdNodes();
    processes.crash('coordinator', false, null);
    processes.start('coordinator', false);
  }

  // --- their starts ------------------------------------------------------------------------------------------------

  #startCoordinator(boot: string): CoordinatorMachine {
    const { readyMade } = this.#parts.options;
    const config: SessionConfig = {
      resumeKey: this.#parts.random('resume-key')(32),
      lifetimes: { signingMs: signingLifetimeMs, pendingMs: pendingLifetimeMs, dkgMs: dkgLifetimeMs },
      nodesWaitMs,
      partialTimeoutMs: 2000,
      sandbox: true,
      // Few, since most worlds make only a handful of signatures.
      nonceBatchFirst: 1,
      ...this.#parts.options.config,
      roster: this.#parts.roster,
      coordinatorBoot: boot,
      ...(readyMade !== undefined && { readyMade }),
    };
    const { observe, onCoordinatorWrite = () => 'answered' } = this.#parts.options;
    const fence = this.#parts.processes.startsOf('coordinator');
    const { faultService } = this.#parts;
    const { number = firstCluster, external } = this.#parts.options;
    const own = this.#parts.coordinatorStore.as(fence, number);
    const store = strangeStore(own, (what) => faultService.storeShows(what));
    const { clusterId } = this.#parts.roster;
    const ports = this.#ports('coordinator', boot, {
      store:
        external?.sessions?.(number, fence, { clusterId, resumeKey: config.resumeKey }) ??
        called(this.#parts.options.onCoordinatorWrite ? unreliableStore(store, onCoordinatorWrite) : store),
      send: (envelope) =>
        boot === this.#parts.processes.bootOf('coordinator') ? this.#parts.links.fromCoordinator(envelope) : undefined,
      wrote:
        observe &&
        ((write: CoordinatorWrite, outcome: WriteOutcome<CoordinatorRecord>['kind']) =>
          observe({ kind: 'written', atMs: this.#parts.recorder.atMs, process: 'coordinator', boot, write, outcome })),
    });
    const { cryptoBackend, mailboxMax } = this.#parts.options;
    return coordinatorMachine(config, this.#parts.redis, ports, cryptoBackend, mailboxMax);
  }

  #startNode(id: number, boot: string): NodeMachine {
    const { observe, onNodeWrite } = this.#parts.options;
    const store = this.#parts.nodeStores[id - 1]!;
    const process = `node/${id}` as const;
    const ports = this.#ports(process, boot, {
      store: called(onNodeWrite ? unreliableStore(store, (write) => onNodeWrite(id, write)) : store),
      send: (envelope: Envelope<WireMessage>) => this.#parts.links.network.send(process, 'out', envelope),
      wrote:
        observe &&
        ((write: NodeWrite, outcome: WriteOutcome<NodeRecord>['kind']) =>
          observe({ kind: 'written', atMs: this.#parts.recorder.atMs, process, write, outcome })),
    });
    const machine = nodeMachine(
      { ...this.#identity(id), boot },
      this.#parts.tokens[id - 1]!,
      this.#parts.vendor.portOf(id),
      ports,
    );
    for (const key of this.#parts.nodeStores[id - 1]!.snapshot().keys()) {
      const name = vendorRecordName(key);
      if (name) machine.deliver(vendorNews(id, name.tenant, name.reference));
    }
    return machine;
  }

  #identity(id: number): Omit<NodeIdentity, 'boot'> {
    const { roster, identities } = this.#parts;
    const allowClientDealers = this.#parts.options.clientDealers?.(id) ?? true;
    const { readyMade } = this.#parts.options;
    const sandbox = readyMade && {
      tenant: readyMade.tenant,
      sessions: readyMade.sessions,
      seed: readyMade.seedOf(id),
    };
    return { nodeId: id, roster, identitySeed: identities[id - 1]!, allowClientDealers, sandbox };
  }

  #ports<W, R>(
    process: ProcessName,
    boot: string,
    own: Pick<MemberPorts<W, R>, 'store' | 'send' | 'wrote'>,
  ): MemberPorts<W, R> {
    const { recorder, faultService, processes, events } = this.#parts;
    const hasTrace = this.#parts.options.keepTrace !== false;
    return {
      time: this.#parts.time,
      nowMs: () => processes.nowMs(process),
      random: this.#parts.random(boot),
      emit: (address: Address, event: ActorEvent) => {
        if (hasTrace) events.push({ address, event });
        recorder.emitted(process, address, event);
      },
      stepped: recorder.record && ((address: Address, state: unknown) => recorder.stepped(address, state)),
      bug:
        this.#parts.options.onBug === 'record'
          ? (address: Address, error: unknown) => this.#bug(process, address, error)
          : undefined,
      verdict: () => faultService.write(process),
      readsFail: () => faultService.readsFail(process),
      store: own.store,
      send: own.send,
      wrote: own.wrote,
    };
  }

  #bug(process: ProcessName, address: Address, error: unknown): void {
    const text = safeErrorText(error);
    this.#parts.bugs.push({ address, text });
    this.#parts.recorder.bug(process, address, text);
  }
}
