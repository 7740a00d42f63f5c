/** Entries that arrive in order and that callers await by a predicate; each entry can be given once. */
interface Waiter {
  /** Returns whether it found its entry. */
  readonly take: () => boolean;
  readonly reject: (error: unknown) => void;
}

export class Feed<T> {
  #all: T[] = [];
  readonly #given = new Set<T>();
  readonly #waiters = new Set<Waiter>();

  /** Oldest first. */
  get all(): readonly T[] {
    return this.#all;
  }

  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  push(entry: T): void {
    this.#all.push(entry);
    for (const waiter of [...this.#waiters]) if (tried(waiter)) this.#waiters.delete(waiter);
  }

  /**
   * The first entry that matches, among all that arrived and will arrive. `once`: among those not given yet, and marks it as
   * given. Rejects with the error that `matches` throws, and with the reason of `signal`.
   */
  first(matches: (entry: T) => boolean, once: boolean, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const take = (): boolean => {
        const found = this.#all.find((entry) => !(once && this.#given.has(entry)) && matches(entry));
        if (found === undefined) return false;
        if (once) this.#given.add(found);
        resolve(found);
        return true;
      };
      const waiter: Waiter = { take, reject };
      if (tried(waiter)) return;
      this.#waiters.add(waiter);
      signal.addEventListener('abort', () => {
        if (this.#waiters.delete(waiter)) reject(signal.reason);
      });
    });
  }

  /** Marks every entry so far as given. */
  giveAll(): void {
    for (const entry of this.#all) this.#given.add(entry);
  }

  clear(): void {
    this.#all = [];
    this.#given.clear();
  }

  fail(error: unknown): void {
    for (const { reject } of this.#waiters) reject(error);
    this.#waiters.clear();
  }
}

/** Returns whether it no longer waits: a function of the test may throw. */
function tried({ take, reject }: Waiter): boolean {
  try {
    return take();
  } catch (error) {
    reject(error);
    return true;
  }
}
