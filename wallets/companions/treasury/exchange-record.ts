/**
 * Our ledger's booking of an exchange at the venue, in one wallet of the venue account: committed with the ledger's entries,
 * before the venue settles. Reconciliation reads it to set aside an exchange that the venue has not booked yet.
 */
import type { RecordType, Versioned } from '../../store/contract.ts';

export interface ExchangeRecord extends Versioned {
  readonly walletId: string;
  /** The exchange's id in the venue's books. */
  readonly orderId: string;
  /** Smallest units, decimal integers; below zero if they leave the wallet. */
  readonly effect: readonly { readonly asset: string; readonly units: string }[];
  readonly createdAtMs: number;
}

export const exchangeType: RecordType<ExchangeRecord> = {
  name: 'treasury_exchange',
  status: () => '',
  indices: ({ walletId }) => [exchangesIndex(walletId)],
};

/** An exchange has one record in each wallet that it touches. */
export function exchangeRecordId(orderId: string, walletId: string): string {
  return `${orderId}/${walletId}`;
}

/** In the order of their ids, which is not the order of time. */
export function exchangesIndex(walletId: string): string {
  return `treasury:exchanges:wallet:${walletId}`;
}

/** Longer than the window of any reconciliation job. */
export const exchangeLifetimeMs = 30 * 24 * 3_600_000;
