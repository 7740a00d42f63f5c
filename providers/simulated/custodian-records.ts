/**
 * The port to what a simulated custodian keeps: wallets and orders by the caller's own id, for each tenant and family. A
 * record is made once and never changes: where an order stands follows from it and the time. Both methods throw
 * ProviderUnavailable.
 */
export interface Stored<T> {
  readonly value: T;
  /** Counts the records of its family, from 1. */
  readonly number: number;
}

export interface CustodianRecords {
  /** Keeps the value (JSON) unless one stands there; what stands there afterwards. `ttlMs` 0, the default: for ever. */
  putOnce<T>(tenant: string, family: string, id: string, value: T, ttlMs?: number): Promise<Stored<T>>;
  find<T>(tenant: string, family: string, id: string): Promise<Stored<T> | undefined>;
}
