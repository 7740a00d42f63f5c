/** What comes one after the other, and is awaited by what it is: each entry can be given once. */
interface Waiter {
  /** Whether it found what it waits for. */
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
   * The first entry that matches, of all that came and will come. `once`: of those that were not given yet, and it is given
   * now. Rejects with what `matches` throws, and with the reason of `signal`.
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

  /** What came so far counts as given. */
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

/** Whether it waits no longer: a function of the test may throw. */
function tried({ take, reject }: Waiter): boolean {
  try {
    return take();
  } catch (error) {
    reject(error);
    return true;
  }
}
