/** One promise of the service, and whether it held. */
export interface Check {
  readonly name: string;
  readonly holds: boolean;
  /** The checked facts, with counts. */
  readonly text: string;
  /** The first faults. */
  readonly faults: readonly string[];
}

const faultsMax = 10;

/** Collects faults of one check; stores the first few and counts all. */
export class Faults {
  readonly #first: string[] = [];
  count = 0;

  add(text: string): void {
    this.count += 1;
    if (this.#first.length < faultsMax) this.#first.push(text);
  }

  check(name: string, text: string): Check {
    const more = this.count - this.#first.length;
    const faults = more > 0 ? [...this.#first, `and ${more} more`] : this.#first;
    return { name, holds: this.count === 0, text, faults };
  }
}
