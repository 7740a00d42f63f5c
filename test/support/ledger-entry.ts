/** A balance that a test changes, with its movement. */
import type { LedgerEntry } from '../../wallets/store/contract.ts';

export function ledgerEntry(walletId: string, asset: string, available: bigint, reserved = 0n): LedgerEntry {
  const movement = { kind: 'correction', of: null, txId: null, counterparty: null } as const;
  return { walletId, asset, available, reserved, movement };
}
