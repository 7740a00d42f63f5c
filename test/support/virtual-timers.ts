/** Virtual time for code that takes the ports of time: nothing passes until a test advances it. */
import type { Cancel, Clock, MachineMs, Timers } from '../../core/actors/contract.ts';

export class VirtualTimers implements Timers, Clock {
  readonly #waiting = new Set<{ readonly atMs: number; readonly run: () => void }>();
  #elapsedMs = 0;

  /** Timers that are started and neither fired nor cancelled. */
  get pending(): number {
    return this.#waiting.size;
  }

  elapsedMs(): number {
    return this.#elapsedMs;
  }

  nowMs(): number {
    return this.#elapsedMs;
  }

  epochMs(): MachineMs {
    return this.#elapsedMs as MachineMs;
  }

  start(afterMs: number, run: () => void): Cancel {
    const timer = { atMs: this.#elapsedMs + afterMs, run };
    this.#waiting.add(timer);
    return () => this.#waiting.delete(timer);
  }

  /** Fires what is due by then, in order of time, and of two at the same time the one that was started first. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#elapsedMs + byMs;
    for (let timer = this.#next(untilMs); timer !== undefined; timer = this.#next(untilMs)) {
      this.#waiting.delete(timer);
      this.#elapsedMs = Math.max(this.#elapsedMs, timer.atMs);
      timer.run();
      await settled();
    }
    this.#elapsedMs = untilMs;
  }

  #next(untilMs: number) {
    const due = [...this.#waiting].filter(({ atMs }) => atMs <= untilMs);
    return due.sort((one, other) => one.atMs - other.atMs)[0];
  }
}

/** Promises that hang on nothing but each other have gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
