/**
 * The rule of retries: after an attempt, whether to send the call again, and when. Pure.
 *
 * It sends a call again only if that cannot cause a second effect: its operation repeats safely (`Repeat`), or the answer says
 * that the service did nothing. So it repeats a refusal for load (429) and an uncommitted conflict for any operation; after a
 * lost connection, a timeout, 502, 503 and 504, whose effect is unknown, only where a repeat is safe.
 */
import type { Repeat } from './contract.ts';
import type { FieldIssue } from './errors.ts';

/** A failed attempt. */
export type Failure =
  | { readonly kind: 'answered'; readonly status: number; readonly details: readonly FieldIssue[] }
  /** `effect: none`: the request never left. */
  | { readonly kind: 'unanswered'; readonly effect: 'none' | 'unknown' };

const unknownEffect: ReadonlySet<number> = new Set([408, 502, 503, 504]);
/** Issues of a 409 that a repeat may avoid; the service did nothing. */
const passing: ReadonlySet<string> = new Set(['request_in_progress', 'version_conflict']);

export function mayRepeat(failure: Failure, repeat: Repeat): boolean {
  const isSafe = repeat !== 'refused';
  if (failure.kind === 'unanswered') return isSafe || failure.effect === 'none';
  const { status, details } = failure;
  if (status === 429) return true;
  if (status === 409) return details.some(({ issue }) => passing.has(issue));
  return isSafe && unknownEffect.has(status);
}

const firstPauseMs = 100;
const pauseMsMax = 5_000;
/** A longer pause is beyond the deadline of every call. */
const retryAfterMaxMs = 24 * 3_600_000;

/**
 * The pause before attempt `attempts + 1`: exponential with jitter, from half the pause to all of it. The service's `Retry-After`
 * is the minimum; the jitter is added to it, so that refused callers do not return together.
 *
 * @param attempts sent so far, at least 1
 * @param random from 0 up to 1
 */
export function pauseMs(attempts: number, retryAfterMs: number | undefined, random: number): number {
  const pause = Math.min(pauseMsMax, firstPauseMs * 2 ** Math.min(attempts - 1, 16));
  const jittered = pause * (0.5 + random / 2);
  return Math.ceil(retryAfterMs === undefined ? jittered : retryAfterMs + jittered);
}

/** Milliseconds; undefined: the header is missing or invalid. Seconds or an HTTP date. */
export function readRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Math.min(Number(header) * 1000, retryAfterMaxMs);
  const atMs = /^[A-Z][a-z]{2}, .* GMT$/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), retryAfterMaxMs);
}
