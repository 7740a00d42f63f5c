/**
 * The progress of an order at a simulated provider: a list of statuses and their start times. The state of an order is a pure
 * function of its time of acceptance and the present time, so nothing runs in the background and a restart loses nothing.
 */
import type { TestOutcome } from '../port/test-triggers.ts';

export interface Phase<S extends string> {
  readonly status: S;
  /** Milliseconds after the acceptance of the order. */
  readonly fromMs: number;
}

/** In order of time, the first one from 0; the last one stays. */
export type StatusTimeline<S extends string> = readonly Phase<S>[];

export interface Standing<S extends string> {
  readonly status: S;
  /** The time of the next change; undefined: never. */
  readonly nextAtMs: number | undefined;
}

/** The shortest interval of polls of the same order. */
const waitMsMin = 20;

export function standing<S extends string>(timeline: StatusTimeline<S>, takenAtMs: number, nowMs: number): Standing<S> {
  const elapsedMs = Math.max(0, nowMs - takenAtMs);
  const next = timeline.findIndex(({ fromMs }) => fromMs > elapsedMs);
  const index = next === -1 ? timeline.length - 1 : next - 1;
  const nextPhase = timeline[index + 1];
  return {
    status: timeline[index]!.status,
    nextAtMs: nextPhase === undefined ? undefined : Math.max(takenAtMs + nextPhase.fromMs, nowMs + waitMsMin),
  };
}

/** A provider's statuses for the test outcomes. */
export interface TurningPoints<S extends string> {
  /** The status in which an order waits in `slow_queue`. */
  readonly queued: S;
  /** The status in which an order stays in `stuck_confirming`. */
  readonly confirming: S;
  /** The status that replaces the last one in `fails_on_chain`. */
  readonly failed: S;
}

export const slowQueueMs = 10_000;

/** The timeline of an order with this outcome; outcomes that refuse an order do not change it. */
export function timelineFor<S extends string>(
  usual: StatusTimeline<S>,
  points: TurningPoints<S>,
  outcome: TestOutcome | undefined,
): StatusTimeline<S> {
  switch (outcome) {
    case 'slow_queue': {
      const queuedAt = usual.findIndex(({ status }) => status === points.queued);
      return usual.map((phase, index) => (index > queuedAt ? { ...phase, fromMs: phase.fromMs + slowQueueMs } : phase));
    }
    case 'stuck_confirming':
      return usual.slice(0, usual.findIndex(({ status }) => status === points.confirming) + 1);
    case 'fails_on_chain':
      return usual.map((phase, index) => (index === usual.length - 1 ? { ...phase, status: points.failed } : phase));
    default:
      return usual;
  }
}
