/**
 * The port to the books of simulated custodians: for each of their wallets the rows of its orders and deposits, and sums of the
 * settled ones. A custodian writes them as part of its own operation; the control plane only reads
 * them, as statements. Every method may be repeated: a row and an opening count once. All throw ProviderUnavailable.
 */
import type { MovementDirection, StatementQuery } from '../port/statement.ts';

/** A stored row: its state follows from it and the time. */
export interface BookRow {
  /** The custodian's own id. */
  readonly id: string;
  readonly direction: MovementDirection;
  /** The caller's id for it; null for a deposit. */
  readonly reference: string | null;
  /** Its id on its network; null if the custodian names none. */
  readonly txId: string | null;
  /** The custodian's name for the asset. */
  readonly assetId: string;
  /** Decimal. */
  readonly amount: string;
  readonly counterparty: string | null;
  readonly environment: 'sandbox' | 'production';
  readonly bookedAtMs: number;
  /** An exchange at the custodian's own venue: final when booked, and free. */
  readonly isExchange?: boolean;
}

/** A row's effect on the balance, and its time; undefined: it never settles. */
export interface Settlement {
  readonly atMs: number;
  /** By asset symbol; below zero for outgoing units. */
  readonly effect: readonly { readonly asset: string; readonly units: bigint }[];
}

/** `name`: unique in its wallet's book. */
export interface NamedRow {
  readonly name: string;
  readonly row: BookRow;
}

export interface CustodianBooks {
  open(tenant: string, wallet: string, sums: readonly { asset: string; units: bigint }[]): Promise<void>;
  post(tenant: string, wallet: string, entry: NamedRow, settlement: Settlement | undefined): Promise<void>;
  /** Oldest first; rows of one time in the order of their names. */
  rows(tenant: string, wallet: string, query: StatementQuery): Promise<readonly NamedRow[]>;
  /** In the order of the names. */
  find(tenant: string, wallet: string, names: readonly string[]): Promise<readonly (BookRow | undefined)[]>;
  balances(tenant: string, wallet: string, nowMs: number): Promise<ReadonlyMap<string, bigint>>;
}

/** Rows stay this long, like their orders. */
export const rowKeptMs = 31 * 24 * 3_600_000;
