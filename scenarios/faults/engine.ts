/**
 * The fault engine, for both worlds (engine-contract.ts): frames and writes in, verdicts and orders out.
 *
 * Deterministic: it draws from its stream, in the order of its calls. Every frame is accounted for once: it
 * arrives, is lost, or is held and then delivered, unless its link reconnected meanwhile.
 *
 * `node/*` means every node. A crash or another process fault that a point triggers hits only the node whose frame
 * triggered it. A partition of one direction stops heartbeats too; frames of the other direction pass until the link
 * closes.
 */
import { ByzantineBehaviours } from './byzantine/behaviours.ts';
import { ActiveFaults } from './engine/active-faults.ts';
import { type ApiServerFault, apiServerVerdict, isApiServerFault, touchesRequest } from './engine/api-faults.ts';
import { type ArmedFault, armedFault } from './engine/armed-fault.ts';
import { checkFault } from './engine/checks.ts';
import { FrameFilter } from './engine/frame-filter.ts';
import { deliveries, FaultLifecycle, firedOrder } from './engine/lifecycle.ts';
import { beginsAtCall, decidesCall, fateOf } from './engine/port-calls.ts';
import { copyOrders } from './engine/trigger-orders.ts';
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
} from './vocabulary/engine-contract.ts';
import type { Fault } from './vocabulary/fault.ts';
import type { HsmFailure } from './vocabulary/fault-parts.ts';
import { isLie, isStoreKind } from './vocabulary/kinds.ts';
import type { FaultEngineOptions } from './vocabulary/options.ts';
import { processesOf } from './vocabulary/targets.ts';

export { type FaultEngineOptions, FaultError } from './vocabulary/options.ts';

const none: readonly never[] = [];

/** An engine with nothing armed. The caller must perform orders in their order. */
export function faultEngine(options: FaultEngineOptions): FaultEngine {
  return new Engine(options);
}

class Engine implements FaultEngine {
  readonly #options: FaultEngineOptions;
  readonly #active = new ActiveFaults();
  readonly #lifecycle: FaultLifecycle;
  readonly #byzantine: ByzantineBehaviours;
  readonly #frameFilter: FrameFilter;
  /** Orders from calls that return none; the next call that returns orders returns these first. */
  readonly #pending: Order[] = [];
  #latestMs = 0;

  constructor(options: FaultEngineOptions) {
    this.#options = options;
    this.#byzantine = new ByzantineBehaviours(options);
    this.#lifecycle = new FaultLifecycle(options, this.#active);
    this.#frameFilter = new FrameFilter(options, this.#lifecycle, this.#byzantine);
  }

  get idle(): boolean {
    return this.#active.live.length === 0 && this.#pending.length === 0;
  }

  arm(fault: Fault, nowMs: number): { readonly id: string; readonly orders: readonly Order[] } {
    checkFault(fault, this.#options);
    const id = this.#active.idFor(fault);
    const orders = this.#due(nowMs);
    const armed = armedFault(id, fault, nowMs);
    this.#active.add(armed);
    orders.push(...copyOrders(armed, this.#options.nodesTotal));
    if (armed.beginsMs <= nowMs) orders.push(...this.#lifecycle.begin(armed, nowMs));
    this.#remember();
    return { id, orders };
  }

  disarm(id: string, nowMs: number): readonly Order[] | undefined {
    const armed = this.#active.get(id);
    if (armed === undefined) return undefined;
    const orders = this.#due(nowMs);
    orders.push(...this.#lifecycle.end(armed, nowMs));
    this.#remember();
    return orders;
  }

  clear(nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    const { live } = this.#active;
    // Held frames are delivered, not passed to another fault.
    const held = live.flatMap((armed) => armed.held).sort((a, b) => a.number - b.number);
    for (const armed of live) armed.held = [];
    for (const armed of live) orders.push(...this.#lifecycle.end(armed, nowMs));
    orders.push(...deliveries(held));
    this.#remember();
    return orders;
  }

  list(nowMs: number): readonly FaultStatus[] {
    return this.#active.list(nowMs);
  }

  step(name: string, nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    for (const armed of this.#active.live) {
      const { at } = armed.fault;
      if (armed.phase !== 'waiting' || at?.step !== name || armed.beginsMs < Number.POSITIVE_INFINITY) continue;
      armed.beginsMs = nowMs + (at.after_ms ?? 0);
      if (armed.beginsMs <= nowMs) orders.push(...this.#lifecycle.begin(armed, nowMs));
    }
    this.#active.changed();
    this.#remember();
    return orders;
  }

  frame(frame: FrameInTransit, nowMs: number): FrameVerdict {
    // Only `wake` ends due faults: frames held until then go first.
    this.#latestMs = nowMs;
    const orders = this.#takePending();
    this.#byzantine.note(frame);
    const applicable = this.#active.applicableTo(frame);
    if (applicable.length === 0) {
      return { arrivals: [{ envelope: frame.envelope, afterMs: 0 }], orders, faults: none };
    }
    const touched = new Set<string>();
    const arrivals = this.#frameFilter.pass(frame, applicable, nowMs, orders, touched);
    if (orders.length > 0) this.#remember();
    return { arrivals, orders, faults: touched.size === 0 ? none : [...touched] };
  }

  write(name: ProcessName, nowMs: number): WriteVerdict {
    this.#latestMs = nowMs;
    let fate: WriteVerdict['fate'] = 'answered';
    let delayMs = 0;
    for (const armed of this.#stores(name)) {
      const { fault } = armed;
      if (fate !== 'answered' && fault.fault !== 'store_slow') continue;
      if (!this.#triggersOnUse(armed, name, nowMs)) continue;
      if (fault.fault === 'store_slow') delayMs += fault.by_ms;
      else fate = fault.fault === 'store_unanswered' ? 'unanswered' : 'lost';
    }
    return { fate, delayMs };
  }

  portCall(call: PortCallMade, nowMs: number): PortVerdict {
    this.#latestMs = nowMs;
    const before = this.#takePending();
    const after: Order[] = [];
    let fate: PortVerdict['fate'] = 'answered';
    let delayMs = 0;
    for (const armed of this.#active.live) {
      if (beginsAtCall(armed, call)) {
        if (!this.#lifecycle.countsCall(armed)) continue;
        const orders = armed.fault.at?.phase === 'after' ? after : before;
        orders.push(...this.#lifecycle.trigger(armed, processesOf(armed.targets, this.#options.nodesTotal), nowMs));
      } else if (decidesCall(armed, call)) {
        const made = fateOf(armed.fault);
        if (made.fate !== undefined && fate !== 'answered') continue;
        armed.seen += 1;
        if (armed.seen < armed.nth || !this.#triggersOnUse(armed, call.process, nowMs)) continue;
        fate = made.fate ?? fate;
        delayMs += made.delayMs;
      }
    }
    return { fate, delayMs, before, after };
  }

  request(request: ApiServerRequest, nowMs: number): ApiServerVerdict {
    this.#latestMs = nowMs;
    const triggered: { readonly id: string; readonly fault: ApiServerFault }[] = [];
    for (const armed of this.#active.live) {
      const { id, fault, phase } = armed;
      if (phase !== 'holding' || !isApiServerFault(fault) || !touchesRequest(fault, request)) continue;
      const isDecided = triggered.some((each) => each.fault.fault !== 'answer_slow');
      if (isDecided && fault.fault !== 'answer_slow') continue;
      armed.seen += 1;
      if (fault.at?.point === undefined && armed.seen < armed.nth) continue;
      if (this.#triggersOnUse(armed, 'gateway', nowMs)) triggered.push({ id, fault });
    }
    return apiServerVerdict(triggered);
  }

  readsFail(name: ProcessName, nowMs: number): boolean {
    this.#latestMs = nowMs;
    const failing = this.#stores(name).filter(({ fault }) => fault.fault === 'store_failing');
    return failing.some((armed) => this.#triggersOnUse(armed, name, nowMs));
  }

  storeShows(what: 'store_tampered' | 'store_full', nowMs: number): boolean {
    this.#latestMs = nowMs;
    return this.#active.live.some(
      ({ phase, fault, endsMs }) => phase === 'holding' && fault.fault === what && endsMs > nowMs,
    );
  }

  hsmFails(name: ProcessName, nowMs: number): HsmFailure | undefined {
    this.#latestMs = nowMs;
    for (const armed of this.#active.live) {
      const { phase, fault, on } = armed;
      if (phase !== 'holding' || fault.fault !== 'hsm_fails' || !on.includes(name)) continue;
      if (this.#triggersOnUse(armed, name, nowMs)) return fault.by ?? 'token_absent';
    }
    return undefined;
  }

  nextWakeMs(): number {
    const { nextChangeMs } = this.#active;
    return this.#pending.length > 0 ? Math.min(this.#latestMs, nextChangeMs) : nextChangeMs;
  }

  wake(nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    this.#remember();
    return orders;
  }

  rightClocks(): void {
    this.#lifecycle.rightClocks();
  }

  linkDown(peer: ProcessName): void {
    for (const armed of this.#active.live) {
      this.#pending.push(...this.#lifecycle.linkDown(armed, peer, this.#latestMs));
    }
    this.#remember();
  }

  #takePending(): Order[] {
    return this.#pending.length > 0 ? this.#pending.splice(0) : [];
  }

  /** Pending orders, then every beginning and end that is due, in the order of time and then of arming. */
  #due(nowMs: number): Order[] {
    this.#latestMs = nowMs;
    const orders = this.#takePending();
    while (this.#active.nextChangeMs <= nowMs) {
      const armed = this.#active.nextToChange();
      const begins = armed.phase === 'waiting';
      orders.push(...(begins ? this.#lifecycle.begin(armed, nowMs) : this.#lifecycle.lapse(armed, nowMs)));
    }
    return orders;
  }

  #stores(name: ProcessName): readonly ArmedFault[] {
    return this.#active.live.filter(
      ({ phase, fault, on }) => phase === 'holding' && isStoreKind(fault.fault) && on.includes(name),
    );
  }

  #triggersOnUse(armed: ArmedFault, name: ProcessName, nowMs: number): boolean {
    if (armed.endsMs <= nowMs || !this.#lifecycle.chance(armed)) return false;
    armed.triggerCount += 1;
    if (armed.triggerCount === 1) this.#pending.push(firedOrder(armed, [name]));
    if (armed.triggerCount >= armed.countMax) {
      this.#pending.push(...this.#lifecycle.end(armed, nowMs));
    }
    return true;
  }

  /** Records frames only while a byzantine fault is armed. */
  #remember(): void {
    this.#byzantine.remember(this.#active.live.some(({ fault }) => isLie(fault)));
  }
}
