/** The ports that a handler may use, made for one run of it. */
import { createHash } from 'node:crypto';
import type { RandomBytes } from '../../core/actors/contract.ts';
import { type IdPrefix, newId } from '../../proto/ids.ts';
import type { RequestContext } from './route.ts';

/** The data that stays the same when a request is repeated under its idempotency key, or runs again after a conflict. */
export interface RequestAttempt {
  /** Drawn only when an id is made. */
  readonly seed: () => Uint8Array;
  /** The start of the first attempt: the time in the ids, which must repeat. Not to be used as a clock. */
  readonly startedMs: number;
}

export function freshAttempt(nowMs: number, random: RandomBytes): RequestAttempt {
  let drawn: Uint8Array | undefined;
  return {
    startedMs: nowMs,
    seed: () => {
      drawn ??= random(32);
      return drawn;
    },
  };
}

export type ContextBase = Omit<RequestContext, 'nowMs' | 'newId'>;

/**
 * A context whose ids begin anew: the n-th id of a prefix is the same in every run of an attempt. `nowMs` is the time of this
 * run, which may be up to a day after the attempt began: decisions use the present time.
 */
export function contextOf(base: ContextBase, attempt: RequestAttempt, nowMs: number): RequestContext {
  const counts = new Map<IdPrefix, number>();
  return {
    ...base,
    nowMs,
    newId: (prefix) => {
      const count = counts.get(prefix) ?? 0;
      counts.set(prefix, count + 1);
      const digest = createHash('sha256').update(attempt.seed()).update(`/${prefix}/${count}`).digest();
      return newId(prefix, attempt.startedMs, (length) => digest.subarray(0, length));
    },
  };
}
