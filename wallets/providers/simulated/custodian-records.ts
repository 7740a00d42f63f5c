/**
 * The port to the records of a simulated custodian: wallets and orders by the caller's own id, for each tenant and family. A
 * record is created once and never changes: an order's state follows from it and the time. Both methods throw
 * ProviderUnavailable.
 */
export interface Stored<T> {
  readonly value: T;
  /** Counts the records of its family, from 1. */
  readonly number: number;
}

/** Finished orders expire after this time. */
export const finishedTtlMs = 31 * 24 * 3_600_000;

export interface CustodianRecords {
  /** Stores the value (JSON) unless one exists; returns the stored one. `ttlMs` 0, the default: permanent. */
  putOnce<T>(tenant: string, family: string, id: string, value: T, ttlMs?: number): Promise<Stored<T>>;
  find<T>(tenant: string, family: string, id: string): Promise<Stored<T> | undefined>;
}
