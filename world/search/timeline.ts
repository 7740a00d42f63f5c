/** What one resource was, by place in its tenant's event log: the states that a call may have met are those of its span. */

/** Sequences: of the last event before a call was sent, and of the last one when its answer had come. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export class Timeline<T> {
  readonly #entries: { readonly sequence: number; readonly state: T }[] = [];

  get last(): T | undefined {
    return this.#entries.at(-1)?.state;
  }

  /** Of one commit, whose events carry several sequences, the last state counts. */
  set(sequence: number, state: T): void {
    this.#entries.push({ sequence, state });
  }

  /** Every state that a call of this span may have met; empty: the resource was not there. */
  during({ from, to }: Span): readonly T[] {
    const next = this.#entries.findIndex(({ sequence }) => sequence > from);
    const first = next === -1 ? this.#entries.length : next;
    return this.#entries.filter(({ sequence }, at) => at >= first - 1 && sequence <= to).map(({ state }) => state);
  }

  /** Whether a state that holds this began within the span. */
  began({ from, to }: Span, holds: (state: T) => boolean): boolean {
    return this.#entries.some(({ sequence, state }) => sequence > from && sequence <= to && holds(state));
  }
}
