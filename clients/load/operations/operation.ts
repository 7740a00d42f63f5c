/** The operations of a load. */
import type { Check } from '../verdict/check.ts';

/** Measures one call of an operation: its endpoint, how long it took, and how it failed. */
export type Observe = <T>(endpoint: string, call: () => Promise<T>) => Promise<T>;

/** An operation with an unexpected answer. Reports count `code`. */
export class Unexpected extends Error {
  override readonly name = 'Unexpected';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** One kind of operation of a mix, ready to run. */
export interface Operation {
  /** Runs it once. Rejects with CallFailed or Unexpected. */
  run(observe: Observe): Promise<void>;
  /**
   * After the load: learns the end of operations without one, until the time given. Those still open become a fault of `checks`.
   */
  settle(untilMs: number): Promise<void>;
  /** The verdict on everything that this operation did. */
  checks(): Promise<readonly Check[]>;
  close(): Promise<void>;
}
