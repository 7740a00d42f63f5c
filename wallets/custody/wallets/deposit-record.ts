/**
 * A stored deposit or withdrawal: the amount credited to a wallet, or taken from it by another account, and the transaction. Its id is
 * derived from both. It is stored for as long as a report of the same transaction may be repeated.
 */
import { createHash } from 'node:crypto';
import type { RecordType, Versioned } from '../../store/contract.ts';

/** `pending`: its block may still be undone. `reverted`: it was, and is to come again. */
export const depositStandings = ['final', 'pending', 'reverted'] as const;
export type DepositStanding = (typeof depositStandings)[number];

export interface DepositRecord extends Versioned {
  readonly walletId: string;
  readonly asset: string;
  /** Smallest units, a decimal integer; below zero: they were taken. */
  readonly units: string;
  readonly txId: string;
  readonly fromAddress: string | null;
  /** Absent: final. */
  readonly open?: {
    readonly standing: Exclude<DepositStanding, 'final'>;
    /** The version of the transfer that said so: what an earlier one says is out of date. */
    readonly transferVersion: number;
  };
  readonly createdAtMs: number;
}

export const depositType: RecordType<DepositRecord> = {
  name: 'deposit',
  status: () => '',
  indices: ({ walletId }) => [depositsIndex(walletId)],
};

export function depositsIndex(walletId: string): string {
  return `deposits:wallet:${walletId}`;
}

export function depositId(walletId: string, txId: string): string {
  return `dep_${createHash('sha256').update(`${walletId} ${txId}`).digest('hex').slice(0, 32)}`;
}

export function withdrawalId(walletId: string, txId: string): string {
  return depositId(walletId, `out ${txId}`);
}
