/**
 * The fault engine, as both worlds use it (engine-contract.ts): frames and writes in, verdicts and orders out.
 *
 * Deterministic: what it draws comes from its stream, in the order of its calls. Every frame is accounted for once: it
 * arrives, is lost, or is held and then delivered, unless its link came up anew in between.
 *
 * What happens to a frame, in this order:
 * 1. Triggers at its point strike. Before a crash of its sender or receiver it is lost; before a pause of its sender it
 *    waits for the end of the pause, since a process that stands still loses nothing.
 * 2. Byzantine senders say something else, and forced receipts are put into calls.
 * 3. Drop and half_open lose it; hold and partition keep it. What is kept goes from one fault to the next that keeps it.
 * 4. Copies, damage and lateness.
 *
 * node/*: links and lies of every node; of a crash or another strike at a point, the node whose frame it is, otherwise
 * all. A partition of one direction silences heartbeats too; frames of the other direction pass until the link dies.
 */
import { Liars } from './byzantine/liars.ts';
import { type ArmedFault, armedFault, type HeldFrame, isOfSession, looksAt, statusOf } from './engine/armed.ts';
import { checkFault } from './engine/checks.ts';
import { Conditions } from './engine/conditions.ts';
import { isLie } from './engine/kinds.ts';
import { arrivalsOf, changed, changing, holding, losing } from './engine/links.ts';
import { type FaultEngineOptions, FaultError, unitOf } from './engine/options.ts';
import { healingOrders, strikeOrders } from './engine/strikes.ts';
import { peersOf, processesOf, senderOf } from './engine/targets.ts';
import type {
  Arrival,
  FaultEngine,
  FaultStatus,
  FrameInTransit,
  FrameVerdict,
  Order,
  ProcessName,
  WriteVerdict,
} from './engine-contract.ts';
import type { Fault } from './fault.ts';
import { withForcedReceipt } from './forced-receipt.ts';

export { type FaultEngineOptions, FaultError } from './engine/options.ts';

/** What is over stays listed for so long, and so many of them. */
const listedForMs = 600_000;
const listedMax = 200;
/** Frames that one fault holds; those beyond are lost, as those beyond a full buffer. */
const heldMax = 100_000;
const linkTimeoutMsDefault = 6_000;
const none: readonly never[] = [];

/** An engine with nothing armed. Orders are to be performed in the order in which they are given. */
export function faultEngine(options: FaultEngineOptions): FaultEngine {
  return new Engine(options);
}

class Engine implements FaultEngine {
  readonly #options: FaultEngineOptions;
  readonly #conditions = new Conditions();
  readonly #liars: Liars;
  /** By id, in the order of arming. */
  readonly #faults = new Map<string, ArmedFault>();
  /** Those of them that are not over. */
  #live: readonly ArmedFault[] = [];
  /** Which faults look at frames of a link, direction and point; forgotten when a fault's phase changes. */
  readonly #index = new Map<string, Map<string, readonly ArmedFault[]>>();
  /** Orders of calls that cannot return any: they go out with the next that can. */
  #pending: Order[] = [];
  #nextWakeMs = Number.POSITIVE_INFINITY;
  #latestMs = 0;
  #armed = 0;
  #heldFrames = 0;

  constructor(options: FaultEngineOptions) {
    this.#options = options;
    this.#liars = new Liars(options);
  }

  get idle(): boolean {
    return this.#live.length === 0 && this.#pending.length === 0;
  }

  arm(fault: Fault, nowMs: number): { readonly id: string; readonly orders: readonly Order[] } {
    checkFault(fault, this.#options);
    const id = this.#idFor(fault);
    const orders = this.#due(nowMs);
    const armed = armedFault(id, fault, nowMs);
    this.#faults.delete(id);
    this.#faults.set(id, armed);
    if (armed.beginsMs <= nowMs) orders.push(...this.#begin(armed, nowMs));
    this.#refresh();
    this.#prune(nowMs);
    return { id, orders };
  }

  disarm(id: string, nowMs: number): readonly Order[] | undefined {
    const armed = this.#faults.get(id);
    if (armed === undefined) return undefined;
    const orders = this.#due(nowMs);
    orders.push(...this.#end(armed, nowMs));
    this.#refresh();
    return orders;
  }

  clear(nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    // None of them keeps what another held.
    const live = this.#live;
    const held = live.flatMap((armed) => armed.held).sort((a, b) => a.number - b.number);
    for (const armed of live) armed.held = [];
    for (const armed of live) orders.push(...this.#end(armed, nowMs));
    orders.push(...deliveries(held));
    this.#refresh();
    return orders;
  }

  list(nowMs: number): readonly FaultStatus[] {
    this.#prune(nowMs);
    return [...this.#faults.values()].map(statusOf);
  }

  step(name: string, nowMs: number): readonly Order[] {
    const orders = this.#due(nowMs);
    for (const armed of this.#live) {
      const { at } = armed.fault;
      if (armed.phase !== 'waiting' || at?.step !== name || armed.beginsMs < Number.POSITIVE_INFINITY) continue;
      armed.beginsMs = nowMs + (at.after_ms ?? 0);
      if (armed.beginsMs <= nowMs) orders.push(...this.#begin(armed, nowMs));
    }
    this.#refresh();
    return orders;
  }

  frame(frame: FrameInTransit, nowMs: number): FrameVerdict {
    // Only `wake` ends what is due: frames that were held until then go first.
    this.#latestMs = nowMs;
    const orders = this.#pending.length > 0 ? this.#pending.splice(0) : [];
    this.#liars.note(frame);
    const looking = this.#looking(frame);
    if (looking.length === 0) {
      return { arrivals: [{ envelope: frame.envelope, afterMs: 0 }], orders, faults: none };
    }
    const touched = new Set<string>();
    const arrivals = this.#pass(frame, looking, nowMs, orders, touched);
    return { arrivals, orders, faults: touched.size === 0 ? none : [...touched] };
  }

  write(name: ProcessName, nowMs: number): WriteVerdict {
    this.#latestMs = nowMs;
    let fate: WriteVerdict['fate'] = 'answered';
    let delayMs = 0;
    for (const armed of this.#stores(name)) {
      const { fault } = armed;
      if (fate !== 'answered' && fault.fault !== 'store_slow') continue;
      if (!this.#strikesStore(armed, nowMs)) continue;
      if (fault.fault === 'store_slow') delayMs += fault.by_ms;
      else fate = fault.fault === 'store_unanswered' ? 'unanswered' : 'lost';
    }
    return { fate, delayMs };
  }

  readsFail(name: ProcessName, nowMs: number): boolean {
    this.#latestMs = nowMs;
    const failing = this.#stores(name).filter(({ fault }) => fault.fault === 'store_failing');
    return failing.some((armed) => this.#strikesStore(armed, nowMs));
  }

  nextWakeMs(): number {
    return this.#pending.length > 0 ? Math.min(this.#latestMs, this.#nextWakeMs) : this.#nextWakeMs;
  }

  wake(nowMs: number): readonly Order[] {
    return this.#due(nowMs);
  }

  linkDown(peer: ProcessName): void {
    let changed = false;
    for (const armed of this.#live) {
      if (armed.held.length > 0) {
        armed.held = armed.held.filter((held) => held.peer !== peer);
        if (armed.nature === 'frames' && armed.held.length === 0 && armed.strikes >= armed.countMax) {
          changed = true;
          this.#pending.push(...this.#end(armed, this.#latestMs));
        }
      }
      const isHalfOpen = armed.fault.fault === 'half_open' && armed.phase === 'holding';
      if (!isHalfOpen || armed.noticed.has(peer) || !peersOf(armed.on, this.#options.nodesTotal).includes(peer))
        continue;
      // The half-open link was noticed: the next one is whole.
      changed = true;
      armed.noticed.add(peer);
      this.#pending.push(...this.#conditions.end({ kind: 'silence', process: peer }, armed.id));
      if (peersOf(armed.on, this.#options.nodesTotal).every((one) => armed.noticed.has(one))) {
        this.#pending.push(...this.#end(armed, this.#latestMs));
      }
    }
    if (changed) this.#refresh();
  }

  /** What was put off, and every beginning and end that is due, in the order of time and then of arming. */
  #due(nowMs: number): Order[] {
    this.#latestMs = nowMs;
    const orders = this.#pending.length > 0 ? this.#pending.splice(0) : [];
    while (this.#nextWakeMs <= nowMs) {
      const dueMs = this.#nextWakeMs;
      const armed = this.#live.find((one) => changesAt(one) === dueMs)!;
      orders.push(...(armed.phase === 'waiting' ? this.#begin(armed, nowMs) : this.#lapse(armed, nowMs)));
      this.#refresh();
    }
    return orders;
  }

  #begin(armed: ArmedFault, nowMs: number): Order[] {
    armed.beginsMs = nowMs;
    if (armed.nature === 'frames') {
      this.#hold(armed, nowMs);
      return [];
    }
    if (armed.fault.at?.point !== undefined) {
      armed.phase = 'watching';
      return [];
    }
    if (!this.#chance(armed)) return this.#end(armed, nowMs);
    return this.#strike(armed, processesOf(armed.targets, this.#options.nodesTotal), nowMs);
  }

  #hold(armed: ArmedFault, nowMs: number): void {
    const { fault } = armed;
    const ownEndMs = fault.fault === 'half_open' ? this.#noticedMs() : Number.POSITIVE_INFINITY;
    armed.phase = 'holding';
    armed.endsMs = nowMs + (fault.for_ms ?? ownEndMs);
  }

  /** Well after heartbeats have noticed: until then the link must stay silent. */
  #noticedMs(): number {
    return Math.ceil((this.#options.linkTimeoutMs ?? linkTimeoutMsDefault) * 1.5);
  }

  /** A strike of what is no fault of frames. */
  #strike(armed: ArmedFault, victims: readonly ProcessName[], nowMs: number): Order[] {
    // Windows on stores count writes instead.
    if (!armed.fault.fault.startsWith('store_')) armed.strikes += 1;
    const fired = armed.strikes > 0 ? [firedOrder(armed)] : [];
    const orders = [...fired, ...strikeOrders(armed, victims, this.#conditions, this.#options.nodesTotal)];
    if (armed.nature === 'momentary') {
      const goesOn = armed.fault.at?.point !== undefined && armed.strikes < armed.countMax;
      return goesOn ? orders : [...orders, ...this.#end(armed, nowMs)];
    }
    armed.on = victims;
    this.#hold(armed, nowMs);
    return orders;
  }

  /** Its time is up: a spell may strike again. */
  #lapse(armed: ArmedFault, nowMs: number): Order[] {
    const again = armed.nature === 'spell' && armed.fault.at?.point !== undefined && armed.strikes < armed.countMax;
    if (!again) return this.#end(armed, nowMs);
    const orders = this.#heal(armed);
    armed.phase = 'watching';
    armed.endsMs = Number.POSITIVE_INFINITY;
    return orders;
  }

  #end(armed: ArmedFault, nowMs: number): Order[] {
    if (armed.phase === 'over') return [];
    const orders = this.#heal(armed);
    armed.phase = 'over';
    armed.overMs = nowMs;
    armed.beginsMs = Number.POSITIVE_INFINITY;
    armed.endsMs = Number.POSITIVE_INFINITY;
    return [...orders, { kind: 'ended', id: armed.id, fault: armed.fault.fault }];
  }

  /** Ends what it holds. Frames that another fault would have kept too go on to that one. */
  #heal(armed: ArmedFault): Order[] {
    const orders = [...healingOrders(armed, this.#conditions, this.#options.nodesTotal)];
    const { held } = armed;
    armed.on = [];
    armed.held = [];
    if (held.length === 0) return orders;
    const free = held.filter((frame) => {
      const next = this.#live.find((other) => other !== armed && keepsFrame(other, frame));
      if (next === undefined) return true;
      next.held = [...next.held, frame].sort((a, b) => a.number - b.number);
      return false;
    });
    return [...orders, ...deliveries(free)];
  }

  #pass(
    frame: FrameInTransit,
    looking: readonly ArmedFault[],
    nowMs: number,
    orders: Order[],
    touched: Set<string>,
  ): readonly Arrival[] {
    const { fate, exempt } = this.#trigger(frame, looking, nowMs, orders);
    if (fate?.kind === 'lost') {
      touched.add(fate.by.id);
      return none;
    }
    const envelopes = this.#rewrite(frame, looking, nowMs, orders, touched);
    if (envelopes.length === 0) return none;
    const keep = (armed: ArmedFault) => {
      touched.add(armed.id);
      for (const envelope of envelopes) {
        if (armed.held.length >= heldMax) return;
        this.#heldFrames += 1;
        armed.held.push({ ...frame, envelope, number: this.#heldFrames });
      }
    };
    if (fate?.kind === 'held') {
      keep(fate.by);
      return none;
    }
    const { random } = this.#options;
    let arrivals = arrivalsOf(envelopes);
    for (const kinds of [losing, holding, changing]) {
      for (const armed of looking) {
        if (!kinds.includes(armed.fault.fault) || exempt.has(armed) || !this.#touches(armed, frame)) continue;
        touched.add(armed.id);
        if (kinds === holding) keep(armed);
        orders.push(...this.#struck(armed, nowMs));
        if (kinds !== changing) return none;
        arrivals = changed(armed.fault, arrivals, random);
      }
    }
    return arrivals;
  }

  /** Faults that wait for this frame strike. `exempt`: those that begin only after it. */
  #trigger(frame: FrameInTransit, looking: readonly ArmedFault[], nowMs: number, orders: Order[]) {
    let fate: { readonly kind: 'lost' | 'held'; readonly by: ArmedFault } | undefined;
    const exempt = new Set<ArmedFault>();
    const sender = senderOf(frame);
    for (const armed of looking) {
      if (armed.phase !== 'watching' || !this.#counts(armed, frame)) continue;
      const victims = processesOf(armed.targets, this.#options.nodesTotal, frame);
      orders.push(...this.#strike(armed, victims, nowMs));
      this.#refresh();
      const { fault } = armed;
      if (fault.at?.phase === 'after') exempt.add(armed);
      else if (fault.fault === 'crash' && (victims.includes(frame.peer) || victims.includes('coordinator'))) {
        fate ??= { kind: 'lost', by: armed };
      } else if (fault.fault === 'pause' && victims.includes(sender)) fate ??= { kind: 'held', by: armed };
    }
    return { fate, exempt };
  }

  /** What the sender says in the frame's place. */
  #rewrite(
    frame: FrameInTransit,
    looking: readonly ArmedFault[],
    nowMs: number,
    orders: Order[],
    touched: Set<string>,
  ) {
    let { envelope } = frame;
    let envelopes = [envelope];
    for (const armed of looking) {
      const { fault } = armed;
      const rewrites = isLie(fault) || fault.fault === 'force_receipt';
      if (!rewrites || armed.phase !== 'holding' || !this.#counts(armed, frame)) continue;
      const said = isLie(fault) ? this.#liars.lie(fault, frame, envelope) : withForcedReceipt(fault, envelope);
      if (said === undefined) continue;
      touched.add(armed.id);
      orders.push(...this.#struck(armed, nowMs));
      if (said.instead === undefined) return [];
      envelopes = [...said.before, ...envelopes.map((one) => (one === envelope ? said.instead! : one))];
      envelope = said.instead;
    }
    return envelopes;
  }

  /** Whether a fault on a link touches this frame. Partitions and half-open links touch all. */
  #touches(armed: ArmedFault, frame: FrameInTransit): boolean {
    if (armed.phase !== 'holding') return false;
    if (armed.nature === 'frames') return this.#counts(armed, frame);
    if (armed.fault.fault === 'pause') return armed.held.some((one) => isSameLink(one, frame));
    return looksAt(armed, frame.peer, frame.direction, frame.point);
  }

  /** Counts a frame, and says whether it is one to strike. */
  #counts(armed: ArmedFault, frame: FrameInTransit): boolean {
    if (!isOfSession(armed, frame)) return false;
    armed.seen += 1;
    return armed.seen >= armed.nth && armed.strikes < armed.countMax && this.#chance(armed);
  }

  #chance({ fault }: ArmedFault): boolean {
    const { probability = 1 } = fault;
    return probability >= 1 || unitOf(this.#options.random) < probability;
  }

  /** A frame was struck. What has struck often enough is over, unless it still holds frames. */
  #struck(armed: ArmedFault, nowMs: number): Order[] {
    if (armed.nature !== 'frames') return [];
    armed.strikes += 1;
    const orders = armed.strikes === 1 ? [firedOrder(armed)] : [];
    if (armed.strikes >= armed.countMax && armed.held.length === 0) {
      orders.push(...this.#end(armed, nowMs));
      this.#refresh();
    }
    return orders;
  }

  #stores(name: ProcessName): readonly ArmedFault[] {
    return this.#live.filter(
      ({ phase, fault, on }) => phase === 'holding' && fault.fault.startsWith('store_') && on.includes(name),
    );
  }

  #strikesStore(armed: ArmedFault, nowMs: number): boolean {
    if (armed.endsMs <= nowMs || !this.#chance(armed)) return false;
    armed.strikes += 1;
    if (armed.strikes === 1) this.#pending.push(firedOrder(armed));
    if (armed.strikes >= armed.countMax) {
      this.#pending.push(...this.#end(armed, nowMs));
      this.#refresh();
    }
    return true;
  }

  #looking({ peer, direction, point }: FrameInTransit): readonly ArmedFault[] {
    let byPoint = this.#index.get(peer);
    if (byPoint === undefined) {
      byPoint = new Map();
      this.#index.set(peer, byPoint);
    }
    // A point has one direction.
    let looking = byPoint.get(point);
    if (looking === undefined) {
      looking = this.#live.filter((armed) => looksAt(armed, peer, direction, point));
      byPoint.set(point, looking);
    }
    return looking;
  }

  #refresh(): void {
    this.#live = [...this.#faults.values()].filter(({ phase }) => phase !== 'over');
    this.#nextWakeMs = this.#live.reduce((soonest, one) => Math.min(soonest, changesAt(one)), Number.POSITIVE_INFINITY);
    this.#index.clear();
    this.#liars.remember(this.#live.some(({ fault }) => isLie(fault)));
  }

  #prune(nowMs: number): void {
    const over = [...this.#faults.values()].filter(({ phase }) => phase === 'over');
    over.sort((a, b) => a.overMs - b.overMs);
    for (const [index, { id, overMs }] of over.entries()) {
      if (overMs + listedForMs <= nowMs || index < over.length - listedMax) this.#faults.delete(id);
    }
  }

  #idFor({ id }: Fault): string {
    const known = id === undefined ? undefined : this.#faults.get(id);
    if (known !== undefined && known.phase !== 'over') throw new FaultError('id', `there is a fault ${id} already`);
    if (id !== undefined) return id;
    do this.#armed += 1;
    while (this.#faults.has(`flt_${this.#armed}`));
    return `flt_${this.#armed}`;
  }
}

/** When a fault begins or ends by itself. */
function changesAt({ phase, beginsMs, endsMs }: ArmedFault): number {
  if (phase === 'waiting') return beginsMs;
  return phase === 'holding' ? endsMs : Number.POSITIVE_INFINITY;
}

function firedOrder({ id, fault }: ArmedFault): Order {
  return { kind: 'fired', id, fault: fault.fault };
}

/** Whether another fault keeps a frame that is set free. */
function keepsFrame(armed: ArmedFault, frame: HeldFrame): boolean {
  if (!holding.includes(armed.fault.fault)) return false;
  if (!looksAt(armed, frame.peer, frame.direction, frame.point)) return false;
  return armed.nature !== 'frames' || isOfSession(armed, frame);
}

function isSameLink(a: FrameInTransit, b: FrameInTransit): boolean {
  return a.peer === b.peer && a.direction === b.direction;
}

function deliveries(held: readonly HeldFrame[]): Order[] {
  const byLink = new Map<string, HeldFrame[]>();
  for (const frame of held) {
    const key = `${frame.peer} ${frame.direction}`;
    byLink.set(key, [...(byLink.get(key) ?? []), frame]);
  }
  return [...byLink.values()].map((frames): Order => {
    const { peer, direction } = frames[0]!;
    return { kind: 'deliver', peer, direction, envelopes: frames.map(({ envelope }) => envelope) };
  });
}
