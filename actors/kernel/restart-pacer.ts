/** The pace at which an actor that fails again and again is restarted. */

/** Restarts within the window count together. */
const windowMs = 10_000;
/** So many restarts a window happen at once; those beyond wait. */
const immediateMax = 3;
/** The first wait; doubled with every further restart of the window. */
export const backOffMinMs = 100;
const backOffMaxMs = 5_000;

/** The restarts of one actor. */
export class RestartPacer {
  #timesMs: number[] = [];

  /** Counts a restart and returns how long it has to wait, in milliseconds; 0: not at all. */
  next(nowMs: number): number {
    // After a clock jumped back, times in the future would count for ever.
    this.#timesMs = this.#timesMs.filter((timeMs) => timeMs <= nowMs && timeMs > nowMs - windowMs);
    this.#timesMs.push(nowMs);
    const excess = this.#timesMs.length - immediateMax;
    return excess <= 0 ? 0 : Math.min(backOffMaxMs, backOffMinMs * 2 ** Math.min(excess - 1, 20));
  }
}
