/**
 * The conditions that hold now, with the faults that cause each. Several faults may pause one process or stop Redis; the
 * condition ends with the last of them. The engine orders only the beginning and the end of a condition.
 */
import type { Order, ProcessName, ReceiverBehaviour, VendorFaultConduct } from '../vocabulary/engine-contract.ts';
import type { Fault, FaultOf } from '../vocabulary/fault.ts';

type Condition =
  | { readonly kind: 'pause' | 'silence' | 'second'; readonly process: ProcessName }
  | { readonly kind: 'redis' | 'worker' };

export class Conditions {
  /** By condition, the ids of the faults that cause it. */
  readonly #holders = new Map<string, Set<string>>();
  /** Jumps are permanent. */
  readonly #jumps = new Map<ProcessName, number>();
  readonly #skews = new Map<ProcessName, Map<string, number>>();
  readonly #receiver = new Map<string, ReceiverBehaviour>();
  readonly #vendor = new Map<string, VendorFaultConduct>();

  begin(condition: Condition, id: string): readonly Order[] {
    const key = keyOf(condition);
    const holders = this.#holders.get(key);
    if (holders !== undefined) {
      holders.add(id);
      return [];
    }
    this.#holders.set(key, new Set([id]));
    return [orderOf(condition, true)];
  }

  end(condition: Condition, id: string): readonly Order[] {
    const key = keyOf(condition);
    const holders = this.#holders.get(key);
    if (!holders?.delete(id) || holders.size > 0) return [];
    this.#holders.delete(key);
    return [orderOf(condition, false)];
  }

  jump(name: ProcessName, byMs: number): readonly Order[] {
    this.#jumps.set(name, (this.#jumps.get(name) ?? 0) + byMs);
    return [this.#clock(name)];
  }

  /** Clears the jumps, without orders. */
  rightClocks(): void {
    this.#jumps.clear();
  }

  skew(name: ProcessName, id: string, byMs: number): readonly Order[] {
    const skews = this.#skews.get(name) ?? new Map<string, number>();
    this.#skews.set(name, skews.set(id, byMs));
    return [this.#clock(name)];
  }

  unskew(name: ProcessName, id: string): readonly Order[] {
    return this.#skews.get(name)?.delete(id) ? [this.#clock(name)] : [];
  }

  receiver(id: string, fault: Fault): readonly Order[] {
    if (fault.fault === 'receiver_status') this.#receiver.set(id, { status: fault.status });
    if (fault.fault === 'receiver_slow') this.#receiver.set(id, { slowMs: fault.by_ms });
    if (fault.fault === 'receiver_reset') this.#receiver.set(id, { reset: true });
    return [this.#behaviour()];
  }

  receiverWell(id: string): readonly Order[] {
    return this.#receiver.delete(id) ? [this.#behaviour()] : [];
  }

  vendor(id: string, { by, by_ms }: FaultOf<'vendor_fails'>): readonly Order[] {
    this.#vendor.set(id, { by, by_ms });
    return [this.#conduct()];
  }

  vendorWell(id: string): readonly Order[] {
    return this.#vendor.delete(id) ? [this.#conduct()] : [];
  }

  /** An order with the latest behaviour. */
  #conduct(): Order {
    return { kind: 'vendor', conduct: [...this.#vendor.values()].at(-1) };
  }

  #clock(name: ProcessName): Order {
    const skews = [...(this.#skews.get(name)?.values() ?? [])];
    const offsetMs = skews.reduce((sum, one) => sum + one, this.#jumps.get(name) ?? 0);
    return { kind: 'clock', process: name, offsetMs };
  }

  /** When two faults set the same behaviour, the later one applies. */
  #behaviour(): Order {
    const behaviour = this.#receiver.size === 0 ? undefined : Object.assign({}, ...this.#receiver.values());
    return { kind: 'receiver', behaviour };
  }
}

function keyOf(condition: Condition): string {
  return 'process' in condition ? `${condition.kind} ${condition.process}` : condition.kind;
}

function orderOf(condition: Condition, on: boolean): Order {
  switch (condition.kind) {
    case 'pause':
      return { kind: on ? 'pause' : 'resume', process: condition.process };
    case 'silence':
      return { kind: 'silence', process: condition.process, on };
    case 'second':
      return { kind: 'secondProcess', process: condition.process, on };
    case 'redis':
      return { kind: 'redis', up: !on };
    case 'worker':
      return { kind: 'worker', stalled: on };
  }
}
