/**
 * What a process has made and may make again (compiled rules, indexed lists): the least lately used goes first. Keys name
 * immutable things, so that nothing cached can be out of date; only a store that is put back to an earlier state can
 * give such a name to another thing, and then everything is forgotten.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly weight: number }>();
  readonly #weightMax: number;
  #weight = 0;

  /** `weightMax`: the sum of the weights that stay. A value that weighs more is kept until the next one comes. */
  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // A map keeps the order of insertion: the one read last goes to its end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T, weight = 1): void {
    this.#drop(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#weightMax || oldest === key) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }
}
