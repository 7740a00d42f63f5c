/** The lives of the processes with actors: the machines of a cluster's nodes and of its coordinator, and of a second coordinator. */
import { clusterAddress, type LocalMessage } from '../../coordinator/contract/messages.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { vendorNews } from '../../nodes/vendor/routing.ts';
import type { Deliveries } from './deliveries.ts';
import type { SimulatedLinks } from './links.ts';
import type { CoordinatorMachine, NodeMachine } from './members.ts';
import { emptyCoordinatorSnapshot, type MemoryCoordinatorStore, type MemoryNodeStore } from './memory-stores.ts';
import { type Life, nodeName, type Processes } from './processes.ts';
import type { Starts } from './starts.ts';
import type { RedisReach } from './store-side.ts';

interface LivingParts {
  readonly starts: Starts;
  readonly links: SimulatedLinks;
  readonly processes: Processes;
  readonly redis: RedisReach;
  readonly nodeStores: readonly MemoryNodeStore[];
  readonly coordinatorStore: MemoryCoordinatorStore;
  readonly deliveries: Deliveries | undefined;
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
    const { starts, links, processes, redis, coordinatorStore, deliveries } = this.#parts;
    return links.lifeOf('coordinator', {
      start: (boot) => {
        this.#coordinator = starts.coordinator(boot, (envelope) =>
          boot === processes.bootOf('coordinator') ? links.fromCoordinator(envelope) : undefined,
        );
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
    const { starts, links, nodeStores } = this.#parts;
    return links.lifeOf(nodeName(id), {
      start: (boot) => this.#nodes.set(id, starts.node(id, boot)),
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
}
