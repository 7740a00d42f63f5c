/** One thing that the service promised, and whether it kept it. */
export interface Check {
  readonly name: string;
  readonly holds: boolean;
  /** What was checked, with counts. */
  readonly text: string;
  /** The first of what is wrong. */
  readonly faults: readonly string[];
}

const faultsMax = 10;

/** Collects faults of one check; keeps the first few and counts all. */
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
