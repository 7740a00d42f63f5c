/**
 * A small bounded memo for results of pure functions over public data (Lagrange coefficients, points already checked).
 *
 * Two generations: when the young one is full it becomes the old one and the former old one is dropped. So every
 * operation is O(1) and memory is bounded by `2 * generationSize` entries. It never holds a secret.
 */
export class BoundedMemo<Key, Value> {
  readonly #generationSize: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(generationSize: number) {
    this.#generationSize = generationSize;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    // Entries in use move to the young generation, so that only idle ones are dropped.
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: Key, value: Value): void {
    if (this.#young.size >= this.#generationSize) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  /** The number of entries in both generations. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
