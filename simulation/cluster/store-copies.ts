/** Copies of a process's store at a moment, for a fault that rolls it back. The coordinator's store is Redis. */
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Deliveries, DeliveriesSnapshot } from './deliveries.ts';
import type { CoordinatorSnapshot, MemoryCoordinatorStore, MemoryNodeStore } from './memory-stores.ts';

/** The stores of a world, and its webhooks' cursors, which are in Redis too. */
export interface CopiedParts {
  readonly nodeStores: readonly MemoryNodeStore[];
  readonly coordinatorStore: MemoryCoordinatorStore;
  readonly deliveries: Deliveries | undefined;
}

type NodeCopy = ReturnType<MemoryNodeStore['snapshot']>;
interface RedisCopy {
  readonly records: CoordinatorSnapshot;
  readonly deliveries: DeliveriesSnapshot | undefined;
}

export class StoreCopies {
  readonly #parts: CopiedParts;
  readonly #nodes = new Map<string, NodeCopy>();
  readonly #redis = new Map<string, RedisCopy>();

  constructor(parts: CopiedParts) {
    this.#parts = parts;
  }

  keep(process: ProcessName, copy: string): void {
    const { coordinatorStore, deliveries } = this.#parts;
    const store = this.#storeOf(process);
    if (store !== undefined) this.#nodes.set(`${process} ${copy}`, store.snapshot());
    else this.#redis.set(copy, { records: coordinatorStore.snapshot(), deliveries: deliveries?.snapshot() });
  }

  drop(process: ProcessName, copy: string): void {
    this.#nodes.delete(`${process} ${copy}`);
    if (process === 'coordinator') this.#redis.delete(copy);
  }

  /** Call it while the process is down. */
  restore(process: ProcessName, copy: string): void {
    const { coordinatorStore, deliveries } = this.#parts;
    const store = this.#storeOf(process);
    if (store !== undefined) {
      store.restore(this.#nodes.get(`${process} ${copy}`) ?? store.snapshot());
      return;
    }
    const redis = this.#redis.get(copy);
    if (redis === undefined) return;
    coordinatorStore.restore(redis.records);
    if (redis.deliveries) deliveries?.restore(redis.deliveries);
  }

  #storeOf(process: ProcessName): MemoryNodeStore | undefined {
    return process.startsWith('node/') ? this.#parts.nodeStores[Number(process.slice('node/'.length)) - 1] : undefined;
  }
}
