/**
 * The time limit of a start: it may run as long as it makes progress. On a busy machine every step takes many times as long, so
 * no step has its own limit; a start without progress for a minute fails.
 */
const stalledAfterMs = 60_000;

export class Progress {
  readonly #stalledAfterMs: number;
  #signs = '';
  #sinceMs = performance.now();

  constructor(stalledAfter = stalledAfterMs) {
    this.#stalledAfterMs = stalledAfter;
  }

  get stalledAfterMs(): number {
    return this.#stalledAfterMs;
  }

  /** `signs`: a text that changes with progress. True when it has been the same for too long. */
  isStalled(signs: string): boolean {
    const nowMs = performance.now();
    if (signs !== this.#signs) this.#sinceMs = nowMs;
    this.#signs = signs;
    return nowMs - this.#sinceMs >= this.#stalledAfterMs;
  }
}
