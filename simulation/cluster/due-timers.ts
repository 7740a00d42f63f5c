/** The timers of a process or an actor whose time passes by `pass` alone. They fall due in order of time, then of their start. */
export class DueTimers<T> {
  readonly #due: Map<T, number>;

  /** By timer, when it falls due, in milliseconds since the Unix epoch. */
  constructor(due: Iterable<readonly [T, number]> = []) {
    this.#due = new Map(due);
  }

  /** Another set in the same state. */
  fork(): DueTimers<T> {
    return new DueTimers(this.#due);
  }

  /** A timer that runs already gets the new time. */
  start(timer: T, atMs: number): void {
    this.#due.set(timer, atMs);
  }

  cancel(timer: T): void {
    this.#due.delete(timer);
  }

  clear(): void {
    this.#due.clear();
  }

  /** Moves the clock by `ms`; `fired` handles each timer that falls due, also one that it starts, at the timer's time. */
  pass(clock: { nowMs: number }, ms: number, fired: (timer: T) => void): void {
    const untilMs = clock.nowMs + ms;
    for (;;) {
      const next = [...this.#due].filter(([, atMs]) => atMs <= untilMs).sort(([, a], [, b]) => a - b)[0];
      if (next === undefined) break;
      const [timer, atMs] = next;
      this.#due.delete(timer);
      clock.nowMs = Math.max(clock.nowMs, atMs);
      fired(timer);
    }
    clock.nowMs = untilMs;
  }
}
