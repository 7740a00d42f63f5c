/**
 * A least-recently-used cache with a fixed number of entries. A Map keeps insertion order, so the first key is the one
 * that was used longest ago.
 */
export class BoundedCache<Value> {
  readonly #entriesMax: number;
  readonly #entries = new Map<string, Value>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Whether there is a value; does not count as use. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The value, which counts as used now. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
