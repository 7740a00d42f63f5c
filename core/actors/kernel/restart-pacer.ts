/** Limits the restarts of an actor that fails repeatedly. */

/** Restarts within the window count together. */
const windowMs = 10_000;
/** The number of immediate restarts a window; further ones wait. */
const immediateMax = 3;
/** The first wait; doubled with every further restart of the window. */
export const backOffMinMs = 100;
const backOffMaxMs = 5_000;

/** The restarts of one actor. */
export class RestartPacer {
  #timesMs: number[] = [];

  /** Counts a restart and returns its wait in milliseconds; 0: none. */
  next(nowMs: number): number {
    // After a clock jumps back, times in the future would never expire.
    this.#timesMs = this.#timesMs.filter((timeMs) => timeMs <= nowMs && timeMs > nowMs - windowMs);
    this.#timesMs.push(nowMs);
    const excess = this.#timesMs.length - immediateMax;
    return excess <= 0 ? 0 : Math.min(backOffMaxMs, backOffMinMs * 2 ** Math.min(excess - 1, 20));
  }
}
