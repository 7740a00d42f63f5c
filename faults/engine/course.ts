/**
 * The course of a fault: it begins, strikes, lapses and ends. Each step answers with its orders; whatever it changes in a
 * fault, the roll is told.
 */
import type { FrameInTransit, Order, ProcessName } from '../engine-contract.ts';
import { type ArmedFault, type HeldFrame, isOfSession, looksAt } from './armed.ts';
import { Conditions } from './conditions.ts';
import { holding } from './links.ts';
import { type FaultEngineOptions, unitOf } from './options.ts';
import type { Roll } from './roll.ts';
import { healingOrders, strikeOrders } from './strikes.ts';
import { peersOf, processesOf } from './targets.ts';

const linkTimeoutMsDefault = 6_000;

export class Course {
  readonly #options: FaultEngineOptions;
  readonly #roll: Roll;
  readonly #conditions = new Conditions();

  constructor(options: FaultEngineOptions, roll: Roll) {
    this.#options = options;
    this.#roll = roll;
  }

  /** Its time or its step has come. */
  begin(armed: ArmedFault, nowMs: number): Order[] {
    armed.beginsMs = nowMs;
    if (armed.nature === 'frames') {
      this.#hold(armed, nowMs);
      return [];
    }
    if (armed.fault.at?.point !== undefined) {
      armed.phase = 'watching';
      this.#roll.changed();
      return [];
    }
    if (!this.chance(armed)) return this.end(armed, nowMs);
    return this.strike(armed, processesOf(armed.targets, this.#options.nodesTotal), nowMs);
  }

  #hold(armed: ArmedFault, nowMs: number): void {
    const { fault } = armed;
    const ownEndMs = fault.fault === 'half_open' ? this.#noticedMs() : Number.POSITIVE_INFINITY;
    armed.phase = 'holding';
    armed.endsMs = nowMs + (fault.for_ms ?? ownEndMs);
    this.#roll.changed();
  }

  /** Well after heartbeats have noticed: until then the link must stay silent. */
  #noticedMs(): number {
    return Math.ceil((this.#options.linkTimeoutMs ?? linkTimeoutMsDefault) * 1.5);
  }

  /** A strike of what is no fault of frames. */
  strike(armed: ArmedFault, victims: readonly ProcessName[], nowMs: number): Order[] {
    // Windows on stores count writes instead.
    if (!armed.fault.fault.startsWith('store_')) armed.strikes += 1;
    const fired = armed.strikes > 0 ? [firedOrder(armed, victims)] : [];
    const orders = [...fired, ...strikeOrders(armed, victims, this.#conditions, this.#options.nodesTotal)];
    if (armed.nature === 'momentary') {
      const goesOn = armed.fault.at?.point !== undefined && armed.strikes < armed.countMax;
      return goesOn ? orders : [...orders, ...this.end(armed, nowMs)];
    }
    armed.on = victims;
    this.#hold(armed, nowMs);
    return orders;
  }

  /** Its time is up: a spell may strike again. */
  lapse(armed: ArmedFault, nowMs: number): Order[] {
    const again = armed.nature === 'spell' && armed.fault.at?.point !== undefined && armed.strikes < armed.countMax;
    if (!again) return this.end(armed, nowMs);
    const orders = this.#heal(armed);
    armed.phase = 'watching';
    armed.endsMs = Number.POSITIVE_INFINITY;
    this.#roll.changed();
    return orders;
  }

  /** Ends it for good; nothing when it is over already. */
  end(armed: ArmedFault, nowMs: number): Order[] {
    if (armed.phase === 'over') return [];
    const orders = this.#heal(armed);
    armed.phase = 'over';
    armed.overMs = nowMs;
    armed.beginsMs = Number.POSITIVE_INFINITY;
    armed.endsMs = Number.POSITIVE_INFINITY;
    this.#roll.changed();
    return [...orders, { kind: 'ended', id: armed.id, fault: armed.fault.fault }];
  }

  /** Ends what it holds. Frames that another fault would have kept too go on to that one. */
  #heal(armed: ArmedFault): Order[] {
    const orders = [...healingOrders(armed, this.#conditions, this.#options.nodesTotal)];
    const { held } = armed;
    armed.on = [];
    armed.held = [];
    if (held.length === 0) return orders;
    const free: HeldFrame[] = [];
    const heirs = new Set<ArmedFault>();
    for (const frame of held) {
      const next = this.#roll.live.find((other) => other !== armed && keepsFrame(other, frame));
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

  /** Counts a frame, and says whether it is one to strike. */
  counts(armed: ArmedFault, frame: FrameInTransit): boolean {
    if (!isOfSession(armed, frame)) return false;
    armed.seen += 1;
    return armed.seen >= armed.nth && armed.strikes < armed.countMax && this.chance(armed);
  }

  /** Draws, unless it is certain. */
  chance({ fault }: ArmedFault): boolean {
    const { probability = 1 } = fault;
    return probability >= 1 || unitOf(this.#options.random) < probability;
  }

  /** A frame of `peer` was struck. What has struck often enough is over, unless it still holds frames. */
  struck(armed: ArmedFault, peer: ProcessName, nowMs: number): Order[] {
    if (armed.nature !== 'frames') return [];
    armed.strikes += 1;
    const orders = armed.strikes === 1 ? [firedOrder(armed, [peer])] : [];
    if (armed.strikes >= armed.countMax && armed.held.length === 0) {
      orders.push(...this.end(armed, nowMs));
    }
    return orders;
  }

  rightClocks(): void {
    this.#conditions.rightClocks();
  }

  /** The link of a peer is gone, and what was held of it with it; a half-open link was noticed, and the next is whole. */
  linkDown(armed: ArmedFault, peer: ProcessName, nowMs: number): Order[] {
    const orders: Order[] = [];
    if (armed.held.length > 0) {
      armed.held = armed.held.filter((held) => held.peer !== peer);
      const isSpent = armed.nature === 'frames' && armed.strikes >= armed.countMax;
      if (isSpent && armed.held.length === 0) orders.push(...this.end(armed, nowMs));
    }
    if (armed.fault.fault !== 'half_open' || armed.phase !== 'holding' || armed.noticed.has(peer)) return orders;
    const peers = peersOf(armed.on, this.#options.nodesTotal);
    if (!peers.includes(peer)) return orders;
    armed.noticed.add(peer);
    this.#roll.changed();
    orders.push(...this.#conditions.end({ kind: 'silence', process: peer }, armed.id));
    return peers.every((one) => armed.noticed.has(one)) ? [...orders, ...this.end(armed, nowMs)] : orders;
  }
}

export function firedOrder({ id, fault }: ArmedFault, victims: readonly ProcessName[]): Order {
  return { kind: 'fired', id, fault: fault.fault, victims };
}

/** Whether another fault keeps a frame that is set free. */
function keepsFrame(armed: ArmedFault, frame: HeldFrame): boolean {
  if (!holding.includes(armed.fault.fault)) return false;
  if (!looksAt(armed, frame.peer, frame.direction, frame.point)) return false;
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
