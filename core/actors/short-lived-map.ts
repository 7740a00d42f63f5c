/**
 * A map for entries that come and go while the process lives: calls in progress, sessions in memory, requests that wait.
 *
 * V8 moves the entries of a Map into a new table whenever deletions have used up the old one, and the old table keeps a pointer
 * to its successor. An old table that the garbage collector had already moved among the long-lived objects counts as alive
 * until the next full collection. Until then it retains all later tables, and these the values that were in them when they were
 * replaced: requests that ended long ago would survive every collection of young objects, which copies them, and would fill
 * the memory of long-lived objects. So each value lies in a holder of its own, which `delete` empties.
 *
 * Iterates in the order of the first `set` of each key, as Map does.
 */
export class ShortLivedMap<K, V> {
  readonly #holders = new Map<K, Holder<V>>();

  get size(): number {
    return this.#holders.size;
  }

  has(key: K): boolean {
    return this.#holders.has(key);
  }

  get(key: K): V | undefined {
    return this.#holders.get(key)?.value;
  }

  set(key: K, value: V): void {
    const holder = this.#holders.get(key);
    if (holder === undefined) this.#holders.set(key, { value });
    else holder.value = value;
  }

  /** Whether there was such an entry. */
  delete(key: K): boolean {
    const holder = this.#holders.get(key);
    if (holder === undefined) return false;
    holder.value = undefined;
    return this.#holders.delete(key);
  }

  keys(): IterableIterator<K> {
    return this.#holders.keys();
  }

  *values(): IterableIterator<V> {
    for (const { value } of this.#holders.values()) yield value as V;
  }

  *[Symbol.iterator](): IterableIterator<[key: K, value: V]> {
    for (const [key, { value }] of this.#holders) yield [key, value as V];
  }
}

interface Holder<V> {
  value: V | undefined;
}
