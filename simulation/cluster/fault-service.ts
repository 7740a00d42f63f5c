/**
 * Connects the fault engine and the world: shows the engine frames and writes, performs its orders, and wakes it at the times
 * that it requests.
 */
import { describe, targetsOf } from '../../scenarios/faults/describe.ts';
import type {
  ApiServerRequest,
  ApiServerVerdict,
  FaultEngine,
  FaultStatus,
  FrameInTransit,
  FrameVerdict,
  Order,
  PortCallMade,
  PortVerdict,
  ProcessName,
  WriteVerdict,
} from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault, FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import type { HsmFailure } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import type { Task, VirtualTime } from './virtual-time.ts';

/** Orders that the world performs; the others are for reports. */
export type WorldOrder = Exclude<Order, { readonly id: string }>;

export interface FaultServicePorts {
  readonly time: VirtualTime;
  readonly engine: FaultEngine;
  /** Performs orders for the world; `fired` and `ended` do not come here. */
  readonly perform: (order: WorldOrder) => void;
  readonly told: (
    id: string,
    fault: FaultKind,
    targets: readonly ProcessName[],
    what: 'armed' | 'fired' | 'ended',
    /** In words. */
    text: string,
    /** The processes that a trigger hit. */
    victims?: readonly ProcessName[],
    /** Of an armed fault. */
    definition?: Fault,
  ) => void;
}

export class FaultService {
  readonly #ports: FaultServicePorts;
  readonly #known = new Map<string, { readonly targets: readonly ProcessName[]; readonly text: string }>();
  #wake: Task | undefined;
  #wakeMs = Number.POSITIVE_INFINITY;

  constructor(ports: FaultServicePorts) {
    this.#ports = ports;
  }

  get isIdle(): boolean {
    return this.#ports.engine.idle;
  }

  /** Throws FaultError. */
  arm(fault: Fault): string {
    const { engine, time, told } = this.#ports;
    const { id, orders } = engine.arm(fault, time.nowMs());
    const known = { targets: targetsOf(fault), text: describe(fault) };
    this.#known.set(id, known);
    told(id, fault.fault, known.targets, 'armed', known.text, [], fault);
    this.perform(orders);
    return id;
  }

  /** Returns whether a fault with that id existed. */
  disarm(id: string): boolean {
    const orders = this.#ports.engine.disarm(id, this.#ports.time.nowMs());
    if (orders !== undefined) this.perform(orders);
    return orders !== undefined;
  }

  clear(): void {
    this.perform(this.#ports.engine.clear(this.#ports.time.nowMs()));
  }

  list(): readonly FaultStatus[] {
    return this.#ports.engine.list(this.#ports.time.nowMs());
  }

  /** Resets the engine's clock offsets. */
  rightClocks(): void {
    this.#ports.engine.rightClocks();
  }

  step(name: string): void {
    this.perform(this.#ports.engine.step(name, this.#ports.time.nowMs()));
  }

  /** The caller performs its orders, once the frame is sent. */
  frame(frame: FrameInTransit): FrameVerdict {
    return this.#ports.engine.frame(frame, this.#ports.time.nowMs());
  }

  write(process: ProcessName): WriteVerdict | undefined {
    const { engine, time } = this.#ports;
    if (engine.idle) return undefined;
    const verdict = engine.write(process, time.nowMs());
    this.#rewake();
    return verdict;
  }

  /** undefined: no fault is armed. The caller performs the orders. */
  portCall(call: PortCallMade): PortVerdict | undefined {
    const { engine, time } = this.#ports;
    return engine.idle ? undefined : engine.portCall(call, time.nowMs());
  }

  request(request: ApiServerRequest): ApiServerVerdict | undefined {
    const { engine, time } = this.#ports;
    if (engine.idle) return undefined;
    const verdict = engine.request(request, time.nowMs());
    this.#rewake();
    return verdict;
  }

  readsFail(process: ProcessName): boolean {
    const { engine, time } = this.#ports;
    return !engine.idle && engine.readsFail(process, time.nowMs());
  }

  storeShows(what: 'store_tampered' | 'store_full'): boolean {
    const { engine, time } = this.#ports;
    return !engine.idle && engine.storeShows(what, time.nowMs());
  }

  hsmFails(process: ProcessName): HsmFailure | undefined {
    const { engine, time } = this.#ports;
    if (engine.idle) return undefined;
    const failure = engine.hsmFails(process, time.nowMs());
    this.#rewake();
    return failure;
  }

  linkDown(peer: ProcessName): void {
    this.#ports.engine.linkDown(peer);
  }

  perform(orders: readonly Order[]): void {
    for (const order of orders) {
      if ('id' in order) {
        const { targets, text } = this.#known.get(order.id) ?? { targets: [], text: order.fault };
        this.#ports.told(order.id, order.fault, targets, order.kind, text, order.victims);
      } else this.#ports.perform(order);
    }
    this.#rewake();
  }

  #rewake(): void {
    const { engine, time } = this.#ports;
    const nextMs = engine.nextWakeMs();
    if (nextMs === this.#wakeMs) return;
    if (this.#wake !== undefined) time.cancel(this.#wake);
    this.#wake = undefined;
    this.#wakeMs = nextMs;
    if (nextMs === Number.POSITIVE_INFINITY) return;
    this.#wake = time.schedule(nextMs - time.nowMs(), {
      run: () => {
        this.#wake = undefined;
        this.#wakeMs = Number.POSITIVE_INFINITY;
        this.perform(engine.wake(time.nowMs()));
      },
    });
  }
}
