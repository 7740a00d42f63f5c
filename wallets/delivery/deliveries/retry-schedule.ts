/**
 * Decides when a delivery is retried, and when an endpoint has failed for too long. Pure: callers pass time and randomness in.
 *
 * At least once, unordered. A try succeeded with a 2xx answer. After a failure the next one follows the schedule, each pause
 * ±20 % so that a recovered receiver does not get all retries at once. An answer's Retry-After may lengthen a pause, never
 * shorten it. 410 Gone ends it: the receiver wants no more calls.
 */
import type { MachineMs } from '../../../core/actors/contract.ts';

/** Pauses after the first, second, … failed try: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h. */
export const retryScheduleMs: readonly number[] = [
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  10 * 3_600_000,
];
export const deliveryTimeoutMs = 15_000;
/** An endpoint without a successful try for this long is suspended. */
export const suspendAfterMs = 5 * 24 * 3_600_000;
/** The longest Retry-After that is honoured. */
const retryAfterMaxMs = 24 * 3_600_000;
const jitterShare = 0.2;

/** The result of one try. `status` 0: no answer. */
export interface TryResult {
  readonly status: number;
  /** Of the answer's Retry-After; 0: none. */
  readonly askedPauseMs: number;
}

export type NextStep =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly atMs: number }
  /** The schedule is used up. */
  | { readonly kind: 'gaveUp' }
  /** 410: the endpoint is disabled, nothing of it is tried again. */
  | { readonly kind: 'gone' };

/**
 * @param triesBefore tries of this delivery that had failed before this one.
 * @param chance uniform in [0, 1).
 */
export function afterTry(
  result: TryResult,
  triesBefore: number,
  nowMs: number,
  chance: number,
  scheduleMs: readonly number[] = retryScheduleMs,
): NextStep {
  if (result.status >= 200 && result.status < 300) return { kind: 'delivered' };
  if (result.status === 410) return { kind: 'gone' };
  const pauseMs = scheduleMs[triesBefore];
  if (pauseMs === undefined) return { kind: 'gaveUp' };
  const jittered = Math.round(pauseMs * (1 - jitterShare + 2 * jitterShare * chance));
  return { kind: 'retry', atMs: nowMs + Math.max(jittered, result.askedPauseMs) };
}

/** RFC 9110 §10.2.3: seconds, or a date by the clocks of machines. Anything else asks for nothing. */
export function retryAfterMs(text: string | undefined, nowMs: MachineMs): number {
  if (text === undefined) return 0;
  const ms = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : httpDateMs(text) - nowMs;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), retryAfterMaxMs);
}

const httpDate = /^(?:[A-Z][a-z]{2}), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

function httpDateMs(text: string): number {
  return httpDate.test(text.trim()) ? Date.parse(text) : Number.NaN;
}

/** Whether an endpoint has failed for too long: `failingSinceMs` is the first failed try since anything arrived. */
export function mustSuspend(failingSinceMs: number | null, nowMs: number, afterMs: number = suspendAfterMs): boolean {
  return failingSinceMs !== null && nowMs - failingSinceMs >= afterMs;
}
