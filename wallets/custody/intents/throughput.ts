/** Measures the throughput of a queue by its starts in the last seconds, and estimates the wait of queued items from it. */
import type { Timers } from '../../../core/actors/contract.ts';

/** A rate is measured over at least this long, and the next one begins then. */
const windowMs = 1_000;

export class StartRate {
  readonly #timers: Timers;
  #fromMs: number;
  #starts = 0;
  /** Starts a millisecond in the window before. */
  #before = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
    this.#fromMs = timers.elapsedMs();
  }

  started(): void {
    this.#roll();
    this.#starts += 1;
  }

  /** Until so many have started, at the better of the last two windows’ rates; Infinity when none starts. */
  waitMs(ahead: number): number {
    this.#roll();
    const tookMs = Math.max(1, this.#timers.elapsedMs() - this.#fromMs);
    return ahead / Math.max(this.#before, this.#starts / tookMs);
  }

  #roll(): void {
    const tookMs = this.#timers.elapsedMs() - this.#fromMs;
    if (tookMs < windowMs) return;
    // Of a long time without a start nothing is remembered of the rate before it.
    this.#before = this.#starts / tookMs;
    this.#fromMs += tookMs;
    this.#starts = 0;
  }
}
