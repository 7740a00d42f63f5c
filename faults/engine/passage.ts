/**
 * A frame's way through the faults that look at it:
 *
 * 1. Triggers at its point strike. Before a crash of its sender or receiver it is lost; before a pause of its sender it
 *    waits for the end of the pause, with what would overtake it: a process that stands still loses nothing.
 * 2. Byzantine senders say something else, and forced receipts are put into calls.
 * 3. Drop and half_open lose it; hold and partition keep it. What is kept goes from one fault to the next that keeps it.
 * 4. Copies, damage and lateness.
 */
import type { Liars } from '../byzantine/liars.ts';
import type { Arrival, FrameInTransit, Order } from '../engine-contract.ts';
import { withForcedReceipt } from '../forced-receipt.ts';
import { type ArmedFault, looksAt } from './armed.ts';
import type { Course } from './course.ts';
import { isLie } from './kinds.ts';
import { arrivalsOf, changed, changing, holding, losing } from './links.ts';
import type { FaultEngineOptions } from './options.ts';
import { processesOf, senderOf } from './targets.ts';

/** Frames that one fault holds; those beyond are lost, as those beyond a full buffer. */
const heldMax = 100_000;
const none: readonly never[] = [];

export class Passage {
  readonly #options: FaultEngineOptions;
  readonly #course: Course;
  readonly #liars: Liars;
  #heldFrames = 0;

  constructor(options: FaultEngineOptions, course: Course, liars: Liars) {
    this.#options = options;
    this.#course = course;
    this.#liars = liars;
  }

  /** How it arrives. Adds to `orders`, and to `touched` the ids of the faults that changed its fate. */
  pass(
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
        orders.push(...this.#course.struck(armed, frame.peer, nowMs));
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
      if (armed.phase !== 'watching' || !this.#course.counts(armed, frame)) continue;
      const victims = processesOf(armed.targets, this.#options.nodesTotal, frame);
      orders.push(...this.#course.strike(armed, victims, nowMs));
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
      if (!rewrites || armed.phase !== 'holding' || !this.#course.counts(armed, frame)) continue;
      const said = isLie(fault) ? this.#liars.lie(fault, frame, envelope) : withForcedReceipt(fault, envelope);
      if (said === undefined) continue;
      touched.add(armed.id);
      orders.push(...this.#course.struck(armed, frame.peer, nowMs));
      if (said.instead === undefined) return [];
      envelopes = [...said.before, ...envelopes.map((one) => (one === envelope ? said.instead! : one)), ...said.after];
      envelope = said.instead;
    }
    return envelopes;
  }

  /** Whether a fault on a link touches this frame. Partitions and half-open links touch all. */
  #touches(armed: ArmedFault, frame: FrameInTransit): boolean {
    if (armed.phase !== 'holding') return false;
    if (armed.nature === 'frames') return this.#course.counts(armed, frame);
    if (armed.fault.fault === 'pause') return armed.held.some((one) => isSameLink(one, frame));
    return looksAt(armed, frame.peer, frame.direction, frame.point);
  }
}

function isSameLink(a: FrameInTransit, b: FrameInTransit): boolean {
  return a.peer === b.peer && a.direction === b.direction;
}
