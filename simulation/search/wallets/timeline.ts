/** The states of one resource, by place in its tenant's event log: a call may have seen the states of its span. */

/** Sequences: of the last event before a call was sent, and of the last one when its answer had come. */
export interface SequenceSpan {
  readonly from: number;
  readonly to: number;
}

export class Timeline<T> {
  readonly #entries: { readonly sequence: number; readonly state: T }[] = [];

  get last(): T | undefined {
    return this.#entries.at(-1)?.state;
  }

  /** Of one commit, whose events have several sequences, the last state counts. */
  set(sequence: number, state: T): void {
    this.#entries.push({ sequence, state });
  }

  /** Every state that a call of this span may have seen; empty: the resource did not exist. */
  during({ from, to }: SequenceSpan): readonly T[] {
    const next = this.#entries.findIndex(({ sequence }) => sequence > from);
    const first = next === -1 ? this.#entries.length : next;
    return this.#entries.filter(({ sequence }, at) => at >= first - 1 && sequence <= to).map(({ state }) => state);
  }

  /** Whether a state for which this holds began within the span. */
  began({ from, to }: SequenceSpan, holds: (state: T) => boolean): boolean {
    return this.#entries.some(({ sequence, state }) => sequence > from && sequence <= to && holds(state));
  }
}
