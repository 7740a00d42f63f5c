/**
 * The lifecycle of a fault: it begins, triggers, lapses and ends. Each step returns its orders, and reports every change of
 * a fault to ActiveFaults.
 */
import type { FrameInTransit, Order, ProcessName } from '../vocabulary/engine-contract.ts';
import type { Fault } from '../vocabulary/fault.ts';
import { beginsAtTrigger, countsUses, isApiServerKind } from '../vocabulary/kinds.ts';
import { type FaultEngineOptions, unitOf } from '../vocabulary/options.ts';
import { peersOf, processesOf } from '../vocabulary/targets.ts';
import type { ActiveFaults } from './active-faults.ts';
import type { ArmedFault, HeldFrame } from './armed-fault.ts';
import { Conditions } from './conditions.ts';
import { holding } from './links.ts';
import { appliesTo, isOfSession } from './trigger.ts';
import { healingOrders, triggerOrders } from './trigger-orders.ts';

const linkTimeoutMsDefault = 6_000;

export class FaultLifecycle {
  readonly #options: FaultEngineOptions;
  readonly #active: ActiveFaults;
  readonly #conditions = new Conditions();

  constructor(options: FaultEngineOptions, active: ActiveFaults) {
    this.#options = options;
    this.#active = active;
  }

  /** Begins a fault whose time or step has come. */
  begin(armed: ArmedFault, nowMs: number): Order[] {
    armed.beginsMs = nowMs;
    if (armed.nature === 'frames') {
      this.#hold(armed, nowMs);
      return [];
    }
    if (beginsAtTrigger(armed.fault)) {
      armed.phase = 'watching';
      this.#active.changed();
      return [];
    }
    // For API servers and ports the probability applies to each request or call.
    if (!isOfEachUse(armed.fault) && !this.chance(armed)) return this.end(armed, nowMs);
    return this.trigger(armed, processesOf(armed.targets, this.#options.nodesTotal), nowMs);
  }

  #hold(armed: ArmedFault, nowMs: number): void {
    const { fault } = armed;
    const ownEndMs = fault.fault === 'half_open' ? this.#noticedMs() : Number.POSITIVE_INFINITY;
    armed.phase = 'holding';
    armed.endsMs = nowMs + (fault.for_ms ?? ownEndMs);
    this.#active.changed();
  }

  /** Well after heartbeats have found the link dead: until then the link must stay silent. */
  #noticedMs(): number {
    return Math.ceil((this.#options.linkTimeoutMs ?? linkTimeoutMsDefault) * 1.5);
  }

  /** Triggers a fault that does not touch single frames. */
  trigger(armed: ArmedFault, victims: readonly ProcessName[], nowMs: number): Order[] {
    // Windows on stores and API servers count writes and requests instead.
    if (!countsUses(armed.fault.fault)) armed.triggerCount += 1;
    const fired = armed.triggerCount > 0 ? [firedOrder(armed, victims)] : [];
    const orders = [...fired, ...triggerOrders(armed, victims, this.#conditions, this.#options)];
    if (armed.nature === 'momentary') {
      const goesOn = beginsAtTrigger(armed.fault) && armed.triggerCount < armed.countMax;
      return goesOn ? orders : [...orders, ...this.end(armed, nowMs)];
    }
    armed.on = victims;
    this.#hold(armed, nowMs);
    return orders;
  }

  /** Ends a fault whose time is over. A spell may wait for its next trigger. */
  lapse(armed: ArmedFault, nowMs: number): Order[] {
    const again = armed.nature === 'spell' && beginsAtTrigger(armed.fault) && armed.triggerCount < armed.countMax;
    if (!again) return this.end(armed, nowMs);
    const orders = this.#heal(armed);
    armed.phase = 'watching';
    armed.endsMs = Number.POSITIVE_INFINITY;
    this.#active.changed();
    return orders;
  }

  /** Ends a fault permanently. Repeatable. */
  end(armed: ArmedFault, nowMs: number): Order[] {
    if (armed.phase === 'over') return [];
    const orders = this.#heal(armed);
    armed.phase = 'over';
    armed.overMs = nowMs;
    armed.beginsMs = Number.POSITIVE_INFINITY;
    armed.endsMs = Number.POSITIVE_INFINITY;
    this.#active.changed();
    return [...orders, { kind: 'ended', id: armed.id, fault: armed.fault.fault }];
  }

  /** Ends the fault's effects. Held frames go to another fault that holds frames of that link, or are delivered. */
  #heal(armed: ArmedFault): Order[] {
    const orders = [...healingOrders(armed, this.#conditions, this.#options)];
    const { held } = armed;
    armed.on = [];
    armed.held = [];
    if (held.length === 0) return orders;
    const free: HeldFrame[] = [];
    const heirs = new Set<ArmedFault>();
    for (const frame of held) {
      const next = this.#active.live.find((other) => other !== armed && holdsFrame(other, frame));
      if (next === undefined) {
        free.push(frame);
        continue;
      }
      heirs.add(next);
      next.held.push(frame);
    }
    for (const heir of heirs) heir.held.sort((a, b) => a.number - b.number);
    return [...orders, ...deliveries(free)];
  }

  /** Counts a frame; returns whether the fault triggers at it. */
  counts(armed: ArmedFault, frame: FrameInTransit): boolean {
    if (!isOfSession(armed, frame)) return false;
    armed.seen += 1;
    return armed.seen >= armed.nth && armed.triggerCount < armed.countMax && this.chance(armed);
  }

  /** Counts a call of a port; returns whether the fault triggers at it. */
  countsCall(armed: ArmedFault): boolean {
    armed.seen += 1;
    return armed.seen >= armed.nth && armed.triggerCount < armed.countMax && this.chance(armed);
  }

  /** Whether the fault triggers, by its probability. Draws only when that is below 1. */
  chance({ fault }: ArmedFault): boolean {
    const { probability = 1 } = fault;
    return probability >= 1 || unitOf(this.#options.random) < probability;
  }

  /**
   * Counts a trigger at a frame of `peer`, and reports each peer's first. The fault ends at its last trigger, unless it still
   * holds frames.
   */
  triggered(armed: ArmedFault, peer: ProcessName, nowMs: number): Order[] {
    if (armed.nature !== 'frames') return [];
    armed.triggerCount += 1;
    const orders = armed.victims.has(peer) ? [] : [firedOrder(armed, [peer])];
    armed.victims.add(peer);
    if (armed.triggerCount >= armed.countMax && armed.held.length === 0) {
      orders.push(...this.end(armed, nowMs));
    }
    return orders;
  }

  rightClocks(): void {
    this.#conditions.rightClocks();
  }

  /** A peer's link closed: its held frames are lost. A half-open fault ends for that peer, and its next link works. */
  linkDown(armed: ArmedFault, peer: ProcessName, nowMs: number): Order[] {
    const orders: Order[] = [];
    if (armed.held.length > 0) {
      armed.held = armed.held.filter((held) => held.peer !== peer);
      const isSpent = armed.nature === 'frames' && armed.triggerCount >= armed.countMax;
      if (isSpent && armed.held.length === 0) orders.push(...this.end(armed, nowMs));
    }
    if (armed.fault.fault !== 'half_open' || armed.phase !== 'holding' || armed.noticed.has(peer)) return orders;
    const peers = peersOf(armed.on, this.#options);
    if (!peers.includes(peer)) return orders;
    armed.noticed.add(peer);
    this.#active.changed();
    orders.push(...this.#conditions.end({ kind: 'silence', process: peer }, armed.id));
    return peers.every((one) => armed.noticed.has(one)) ? [...orders, ...this.end(armed, nowMs)] : orders;
  }
}

function isOfEachUse({ fault, at }: Fault): boolean {
  return isApiServerKind(fault) || fault === 'provider_fails' || at?.port !== undefined;
}

export function firedOrder({ id, fault }: ArmedFault, victims: readonly ProcessName[]): Order {
  return { kind: 'fired', id, fault: fault.fault, victims };
}

/** Whether another fault holds a frame that the first one releases. */
function holdsFrame(armed: ArmedFault, frame: HeldFrame): boolean {
  if (!holding.includes(armed.fault.fault)) return false;
  if (!appliesTo(armed, frame.peer, frame.direction, frame.point)) return false;
  return armed.nature !== 'frames' || isOfSession(armed, frame);
}

export function deliveries(held: readonly HeldFrame[]): Order[] {
  const byLink = new Map<string, HeldFrame[]>();
  for (const frame of held) {
    const key = `${frame.peer} ${frame.direction}`;
    const frames = byLink.get(key);
    if (frames === undefined) byLink.set(key, [frame]);
    else frames.push(frame);
  }
  return [...byLink.values()].map((frames): Order => {
    const { peer, direction } = frames[0]!;
    return { kind: 'deliver', peer, direction, envelopes: frames.map(({ envelope }) => envelope) };
  });
}
