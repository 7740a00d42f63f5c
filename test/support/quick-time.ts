/**
 * Time that passes faster than real time, for clock and timers alike: what waits for seconds of it waits for milliseconds.
 * For tests of code whose waits are long and whose order in time is what counts, beside a real Redis.
 */
import type { Cancel, Clock, MachineMs, Timers } from '../../core/actors/contract.ts';

export class QuickTime implements Clock, Timers {
  /** What the clock shows beyond the time that has passed. Running timers keep their time. */
  offsetMs = 0;
  readonly #beganMs = Date.now();
  readonly #began = performance.now();
  readonly #factor: number;

  /** `factor`: milliseconds of this time in one of real time. */
  constructor(factor: number) {
    this.#factor = factor;
  }

  nowMs(): number {
    return this.epochMs() + this.offsetMs;
  }

  epochMs(): MachineMs {
    return (this.#beganMs + Math.floor(this.elapsedMs())) as MachineMs;
  }

  elapsedMs(): number {
    return (performance.now() - this.#began) * this.#factor;
  }

  start(afterMs: number, run: () => void): Cancel {
    const timer = setTimeout(run, afterMs / this.#factor);
    return () => clearTimeout(timer);
  }
}
