/**
 * The fault engine, as both worlds use it (engine-contract.ts): frames and writes in, verdicts and orders out.
 *
 * Deterministic: what it draws comes from its stream, in the order of its calls. Every frame is accounted for once: it
 * arrives, is lost, or is held and then delivered, unless its link came up anew in between.
 *
 * node/*: links and lies of every node; of a crash or another strike at a point, the node whose frame it is, otherwise
 * all. A partition of one direction silences heartbeats too; frames of the other direction pass until the link dies.
 */
import { Liars } from './byzantine/liars.ts';
import { type ArmedFault, armedFault } from './engine/armed.ts';
import { checkFault } from './engine/checks.ts';
import { Course, deliveries, firedOrder } from './engine/course.ts';
import { isLie } from './engine/kinds.ts';
import type { FaultEngineOptions } from './engine/options.ts';
import { Passage } from './engine/passage.ts';
import { Roll } from './engine/roll.ts';
import { copyOrders } from './engine/strikes.ts';
import type {
  FaultEngine,
  FaultStatus,
  FrameInTransit,
  FrameVerdict,
  Order,
  ProcessName,
  WriteVerdict,
} from './engine-contract.ts';
import type { Fault } from './fault.ts';

export { type FaultEngineOptions, FaultError } from './engine/options.ts';

const none: readonly never[] = [];

/** An engine with nothing armed. Orders are to be performed in the order in which they are given. */
export function faultEngine(options: FaultEngineOptions): FaultEngine {
  return new Engine(options);
}

class Engine implements FaultEngine {
  readonly #options: FaultEngineOptions;
  readonly #roll = new Roll();
  readonly #course: Course;
  readonly #liars: Liars;
  readonly #passage: Passage;
  /** Orders of calls that cannot return any: they go out with the next that can. */
  readonly #pending: Order[] = [];
  #latestMs = 0;

  constructor(options: FaultEngineOptions) {
    this.#options = options;
    this.#liars = new Liars(options);
    this.#course = new Course(options, this.#roll);
    this.#passage = new Passage(options, this.#course, this.#liars);
  }

  get idle(): boolean {
    return this.#roll.live.length === 0 && this.#pending.length === 0;
  }

  arm(fault: Fault, nowMs: number): { readonly id: string; readonly orders: readonly Order[] } {
    checkFault(fault, this.#options);
    const id = this.#roll.idFor(fault);
    const orders = this.#due(nowMs);
    const armed = armedFault(id, fault, nowMs);
    this.#roll.add(armed);
    orders.push(...copyOrders(armed, this.#options.nodesTotal));
    if (armed.beginsMs <= nowMs) orders.push(...this.#course.begin(armed, nowMs));
    this.#remember();
    return { id, orders };
  }

  disarm(id: string, nowMs: number): readonly Order[] | undefined {
    const armed = this.#roll.get(id);
    if (armed === undefined) return undefined;
    const orders = this.#due(nowMs);
    orders.push(...this.#course.end(armed, nowMs));
    this.#remember();
    return orders;
  }

  clear(nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    const { live } = this.#roll;
    // None of them keeps what another held.
    const held = live.flatMap((armed) => armed.held).sort((a, b) => a.number - b.number);
    for (const armed of live) armed.held = [];
    for (const armed of live) orders.push(...this.#course.end(armed, nowMs));
    orders.push(...deliveries(held));
    this.#remember();
    return orders;
  }

  list(nowMs: number): readonly FaultStatus[] {
    return this.#roll.list(nowMs);
  }

  step(name: string, nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    for (const armed of this.#roll.live) {
      const { at } = armed.fault;
      if (armed.phase !== 'waiting' || at?.step !== name || armed.beginsMs < Number.POSITIVE_INFINITY) continue;
      armed.beginsMs = nowMs + (at.after_ms ?? 0);
      if (armed.beginsMs <= nowMs) orders.push(...this.#course.begin(armed, nowMs));
    }
    this.#roll.changed();
    this.#remember();
    return orders;
  }

  frame(frame: FrameInTransit, nowMs: number): FrameVerdict {
    // Only `wake` ends what is due: frames that were held until then go first.
    this.#latestMs = nowMs;
    const orders = this.#takePending();
    this.#liars.note(frame);
    const looking = this.#roll.lookingAt(frame);
    if (looking.length === 0) {
      return { arrivals: [{ envelope: frame.envelope, afterMs: 0 }], orders, faults: none };
    }
    const touched = new Set<string>();
    const arrivals = this.#passage.pass(frame, looking, nowMs, orders, touched);
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
      if (!this.#strikesStore(armed, name, nowMs)) continue;
      if (fault.fault === 'store_slow') delayMs += fault.by_ms;
      else fate = fault.fault === 'store_unanswered' ? 'unanswered' : 'lost';
    }
    return { fate, delayMs };
  }

  readsFail(name: ProcessName, nowMs: number): boolean {
    this.#latestMs = nowMs;
    const failing = this.#stores(name).filter(({ fault }) => fault.fault === 'store_failing');
    return failing.some((armed) => this.#strikesStore(armed, name, nowMs));
  }

  nextWakeMs(): number {
    const { nextChangeMs } = this.#roll;
    return this.#pending.length > 0 ? Math.min(this.#latestMs, nextChangeMs) : nextChangeMs;
  }

  wake(nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    this.#remember();
    return orders;
  }

  rightClocks(): void {
    this.#course.rightClocks();
  }

  linkDown(peer: ProcessName): void {
    for (const armed of this.#roll.live) {
      this.#pending.push(...this.#course.linkDown(armed, peer, this.#latestMs));
    }
    this.#remember();
  }

  #takePending(): Order[] {
    return this.#pending.length > 0 ? this.#pending.splice(0) : [];
  }

  /** What was put off, and every beginning and end that is due, in the order of time and then of arming. */
  #due(nowMs: number): Order[] {
    this.#latestMs = nowMs;
    const orders = this.#takePending();
    while (this.#roll.nextChangeMs <= nowMs) {
      const armed = this.#roll.nextToChange();
      const begins = armed.phase === 'waiting';
      orders.push(...(begins ? this.#course.begin(armed, nowMs) : this.#course.lapse(armed, nowMs)));
    }
    return orders;
  }

  #stores(name: ProcessName): readonly ArmedFault[] {
    return this.#roll.live.filter(
      ({ phase, fault, on }) => phase === 'holding' && fault.fault.startsWith('store_') && on.includes(name),
    );
  }

  #strikesStore(armed: ArmedFault, name: ProcessName, nowMs: number): boolean {
    if (armed.endsMs <= nowMs || !this.#course.chance(armed)) return false;
    armed.strikes += 1;
    if (armed.strikes === 1) this.#pending.push(firedOrder(armed, [name]));
    if (armed.strikes >= armed.countMax) {
      this.#pending.push(...this.#course.end(armed, nowMs));
    }
    return true;
  }

  /** Frames are remembered while somebody may lie. */
  #remember(): void {
    this.#liars.remember(this.#roll.live.some(({ fault }) => isLie(fault)));
  }
}
