/** The effects of link faults on frames that are neither lost nor held: copies, damage, delay. */
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { FrameArrival } from '../vocabulary/engine-contract.ts';
import type { Fault, FaultOf } from '../vocabulary/fault.ts';
import { unitOf } from '../vocabulary/options.ts';

/** Kinds that drop a frame, hold it, and change how it arrives. They apply to each frame in this order. */
export const losing: readonly string[] = ['drop', 'half_open'];
export const holding: readonly string[] = ['hold', 'partition', 'pause'];
export const changing: readonly string[] = ['duplicate', 'corrupt', 'truncate', 'delay', 'slow', 'reorder'];

/** At most so many arrivals of one frame, copies of copies included: the limit of one fault. */
const arrivalsMax = 101;

export function arrivalsOf(envelopes: readonly WireEnvelope[]): FrameArrival[] {
  return envelopes.map((envelope) => ({ envelope, afterMs: 0 }));
}

/** A frame's arrivals after this fault. Each copy has its own delay. */
export function changed(fault: Fault, arrivals: readonly FrameArrival[], random: RandomSource): FrameArrival[] {
  switch (fault.fault) {
    case 'duplicate':
      return copied(arrivals, 1 + (fault.copies ?? 1));
    case 'corrupt':
    case 'truncate': {
      const damage = fault.fault;
      return arrivals.map((arrival) => ({ damage, ...arrival }));
    }
    case 'delay':
      return arrivals.map((arrival) => later(arrival, delayMs(fault, random)));
    case 'slow':
      return arrivals.map((arrival) => later(arrival, fault.by_ms));
    case 'reorder':
      return arrivals.map((arrival) => ({
        ...later(arrival, Math.floor(unitOf(random) * (fault.within_ms + 1))),
        unordered: true,
      }));
    default:
      return [...arrivals];
  }
}

function copied(arrivals: readonly FrameArrival[], times: number): FrameArrival[] {
  const length = Math.max(arrivals.length, Math.min(arrivalsMax, arrivals.length * times));
  return Array.from({ length }, (_, index) => arrivals[Math.floor((index * arrivals.length) / length)]!);
}

function later(arrival: FrameArrival, byMs: number): FrameArrival {
  return { ...arrival, afterMs: arrival.afterMs + byMs };
}

/** Whole milliseconds. Exponential: most are near min_ms, with a mean of a quarter of the span, and none above max_ms. */
function delayMs({ by_ms, min_ms = 0, max_ms, distribution }: FaultOf<'delay'>, random: RandomSource): number {
  if (max_ms === undefined) return by_ms ?? 0;
  const unit = unitOf(random);
  if (distribution !== 'exponential') return min_ms + Math.floor(unit * (max_ms - min_ms + 1));
  return Math.min(max_ms, min_ms + Math.round((-Math.log(1 - unit) * (max_ms - min_ms)) / 4));
}
