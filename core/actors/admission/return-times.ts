/**
 * When refused callers should come back: one after the other, at the rate at which work starts, so that those who were refused
 * together do not return together and are refused again. A sequence that has grown to `spreadMs` begins anew.
 *
 * The times are suggestions: a caller who comes at another time is treated like any other.
 */
const spreadMs = 10_000;
/** No caller that was refused for load returns sooner. */
export const returnLeastMs = 1_000;
/** Calls a millisecond that are assumed before a rate was measured. */
const rateAssumed = 0.1;

export class ReturnTimes {
  #nextMs = Number.NEGATIVE_INFINITY;

  /** Milliseconds from now. `earliestMs`: likewise, for the first in the sequence. `rate`: calls a millisecond. */
  next(nowMs: number, earliestMs: number, rate: number = rateAssumed): number {
    const followingMs = this.#nextMs + 1 / Math.max(rate, 1 / spreadMs);
    const isInSequence = followingMs >= nowMs + earliestMs && followingMs <= nowMs + spreadMs;
    this.#nextMs = isInSequence ? followingMs : nowMs + earliestMs;
    return isInSequence ? followingMs - nowMs : earliestMs;
  }
}
