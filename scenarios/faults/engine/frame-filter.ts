/**
 * A frame passes the faults that apply to it, in this order:
 *
 * 1. Faults with its point trigger. Before a crash of its sender or receiver it is lost. Before a pause of its sender it
 *    waits for the end of the pause, with the frames that would overtake it: a paused process loses nothing.
 * 2. Byzantine behaviours replace its content; forced receipts modify calls.
 * 3. Drop and half_open lose it; hold and partition hold it. When one fault releases it, another may hold it again.
 * 4. Link faults copy, damage and delay it.
 */
import type { ByzantineBehaviours } from '../byzantine/behaviours.ts';
import { withForcedReceipt } from '../byzantine/forced-receipt.ts';
import type { FrameArrival, FrameInTransit, Order } from '../vocabulary/engine-contract.ts';
import { isLie } from '../vocabulary/kinds.ts';
import type { FaultEngineOptions } from '../vocabulary/options.ts';
import { processesOf, senderOf } from '../vocabulary/targets.ts';
import type { ArmedFault } from './armed-fault.ts';
import type { FaultLifecycle } from './lifecycle.ts';
import { arrivalsOf, changed, changing, holding, losing } from './links.ts';
import { appliesTo } from './trigger.ts';

/** The most frames that one fault holds; further frames are lost. */
const heldMax = 100_000;
const none: readonly never[] = [];

export class FrameFilter {
  readonly #options: FaultEngineOptions;
  readonly #lifecycle: FaultLifecycle;
  readonly #byzantine: ByzantineBehaviours;
  #heldFrames = 0;

  constructor(options: FaultEngineOptions, lifecycle: FaultLifecycle, byzantine: ByzantineBehaviours) {
    this.#options = options;
    this.#lifecycle = lifecycle;
    this.#byzantine = byzantine;
  }

  /** Returns its arrivals. Adds to `orders`, and to `touched` the ids of the faults that changed its fate. */
  pass(
    frame: FrameInTransit,
    applicable: readonly ArmedFault[],
    nowMs: number,
    orders: Order[],
    touched: Set<string>,
  ): readonly FrameArrival[] {
    const { fate, exempt } = this.#trigger(frame, applicable, nowMs, orders);
    if (fate?.kind === 'lost') {
      touched.add(fate.by.id);
      return none;
    }
    const envelopes = this.#rewrite(frame, applicable, nowMs, orders, touched);
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
      for (const armed of applicable) {
        if (!kinds.includes(armed.fault.fault) || exempt.has(armed) || !this.#touches(armed, frame)) continue;
        touched.add(armed.id);
        if (kinds === holding) keep(armed);
        orders.push(...this.#lifecycle.triggered(armed, frame.peer, nowMs));
        if (kinds !== changing) return none;
        arrivals = changed(armed.fault, arrivals, random);
      }
    }
    return arrivals;
  }

  /** Triggers the faults that wait for this frame. `exempt`: those that begin only after it. */
  #trigger(frame: FrameInTransit, applicable: readonly ArmedFault[], nowMs: number, orders: Order[]) {
    let fate: { readonly kind: 'lost' | 'held'; readonly by: ArmedFault } | undefined;
    const exempt = new Set<ArmedFault>();
    const sender = senderOf(frame);
    for (const armed of applicable) {
      if (armed.phase !== 'watching' || !this.#lifecycle.counts(armed, frame)) continue;
      const victims = processesOf(armed.targets, this.#options.nodesTotal, frame);
      orders.push(...this.#lifecycle.trigger(armed, victims, nowMs));
      const { fault } = armed;
      if (fault.at?.phase === 'after') exempt.add(armed);
      else if (fault.fault === 'crash' && (victims.includes(frame.peer) || victims.includes('coordinator'))) {
        fate ??= { kind: 'lost', by: armed };
      } else if (fault.fault === 'pause' && victims.includes(sender)) fate ??= { kind: 'held', by: armed };
    }
    return { fate, exempt };
  }

  /** The envelopes that the sender sends instead of the frame. */
  #rewrite(
    frame: FrameInTransit,
    applicable: readonly ArmedFault[],
    nowMs: number,
    orders: Order[],
    touched: Set<string>,
  ) {
    let { envelope } = frame;
    let envelopes = [envelope];
    for (const armed of applicable) {
      const { fault } = armed;
      const rewrites = isLie(fault) || fault.fault === 'force_receipt';
      if (!rewrites || armed.phase !== 'holding' || !this.#lifecycle.counts(armed, frame)) continue;
      const said = isLie(fault) ? this.#byzantine.lie(fault, frame, envelope) : withForcedReceipt(fault, envelope);
      if (said === undefined) continue;
      touched.add(armed.id);
      orders.push(...this.#lifecycle.triggered(armed, frame.peer, nowMs));
      if (said.instead === undefined) return [];
      envelopes = [...said.before, ...envelopes.map((one) => (one === envelope ? said.instead! : one)), ...said.after];
      envelope = said.instead;
    }
    return envelopes;
  }

  /** Whether a fault on a link touches this frame. Partitions and half-open links touch all. */
  #touches(armed: ArmedFault, frame: FrameInTransit): boolean {
    if (armed.phase !== 'holding') return false;
    if (armed.nature === 'frames') return this.#lifecycle.counts(armed, frame);
    if (armed.fault.fault === 'pause') return armed.held.some((one) => isSameLink(one, frame));
    return appliesTo(armed, frame.peer, frame.direction, frame.point);
  }
}

function isSameLink(a: FrameInTransit, b: FrameInTransit): boolean {
  return a.peer === b.peer && a.direction === b.direction;
}
