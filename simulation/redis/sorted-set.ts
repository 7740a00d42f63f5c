/** A sorted set: members by score, equal scores by their bytes, as Redis orders them. */

export interface Scored {
  readonly member: string;
  readonly score: number;
}

export class SortedSet {
  readonly #scores = new Map<string, number>();
  /** Ascending. */
  readonly #order: Scored[] = [];

  get size(): number {
    return this.#order.length;
  }

  get entries(): readonly Scored[] {
    return this.#order;
  }

  score(member: string): number | undefined {
    return this.#scores.get(member);
  }

  /** Returns whether the member is new. */
  add(member: string, score: number): boolean {
    const known = this.#scores.get(member);
    if (known === score) return false;
    if (known !== undefined) this.#order.splice(this.#place(known, member), 1);
    this.#scores.set(member, score);
    this.#order.splice(this.#place(score, member), 0, { member, score });
    return known === undefined;
  }

  remove(member: string): boolean {
    const known = this.#scores.get(member);
    if (known === undefined) return false;
    this.#scores.delete(member);
    this.#order.splice(this.#place(known, member), 1);
    return true;
  }

  /** 0 for the lowest; undefined: no such member. */
  rank(member: string): number | undefined {
    const known = this.#scores.get(member);
    return known === undefined ? undefined : this.#place(known, member);
  }

  /** The position of the first entry that is not below this one. */
  #place(score: number, member: string): number {
    return this.firstFrom((entry) => entry.score > score || (entry.score === score && entry.member >= member));
  }

  /**
   * The position of the first entry for which `holds`, which is false up to it and true from there; the size if there is none.
   */
  firstFrom(holds: (entry: Scored) => boolean): number {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.#order[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
