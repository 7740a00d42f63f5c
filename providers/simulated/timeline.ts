/**
 * How a simulated provider gets on with an order: a list of statuses and of when each begins. Where an order stands is a
 * pure function of when it was taken and of the time now, so nothing needs to run in the background and a restart loses
 * nothing.
 */
import type { TestOutcome } from '../port/test-triggers.ts';

export interface Phase<S extends string> {
  readonly status: S;
  /** Milliseconds after the order was taken. */
  readonly fromMs: number;
}

/** In order of time, the first one from 0; the last one stays. */
export type Timeline<S extends string> = readonly Phase<S>[];

export interface Standing<S extends string> {
  readonly status: S;
  /** When something will have changed; undefined: never. */
  readonly nextAtMs: number | undefined;
}

/** No provider is asked about the same order more often than this. */
const waitMsMin = 20;

export function standing<S extends string>(timeline: Timeline<S>, takenAtMs: number, nowMs: number): Standing<S> {
  const elapsedMs = Math.max(0, nowMs - takenAtMs);
  const next = timeline.findIndex(({ fromMs }) => fromMs > elapsedMs);
  const index = next === -1 ? timeline.length - 1 : next - 1;
  const nextPhase = timeline[index + 1];
  return {
    status: timeline[index]!.status,
    nextAtMs: nextPhase === undefined ? undefined : Math.max(takenAtMs + nextPhase.fromMs, nowMs + waitMsMin),
  };
}

/** The words in which a provider says what the test outcomes change. */
export interface TurningPoints<S extends string> {
  /** Where an order waits in `slow_queue`. */
  readonly queued: S;
  /** Where one stays in `stuck_confirming`. */
  readonly confirming: S;
  /** What comes instead of the last status in `fails_on_chain`. */
  readonly failed: S;
}

export const slowQueueMs = 10_000;

/** The timeline of an order with this outcome; outcomes that refuse an order leave it as it is. */
export function timelineFor<S extends string>(
  usual: Timeline<S>,
  points: TurningPoints<S>,
  outcome: TestOutcome | undefined,
): Timeline<S> {
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
