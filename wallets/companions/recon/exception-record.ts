/**
 * A difference between our ledger and a provider's books, as stored. One subject (a movement, or the balance
 * of an asset of a wallet) has one open exception at most: a later job that meets it again changes that one. It is resolved
 * once, and stays resolved until one of the two sides changes.
 */

import { createHash } from 'node:crypto';
import { becoming } from '../../../gateway/api/state-changes.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const exceptionTypes = [
  'missing_internal',
  'missing_external',
  'amount_mismatch',
  'status_mismatch',
  'duplicate',
] as const;
export type ExceptionType = (typeof exceptionTypes)[number];
export const severities = ['low', 'medium', 'high', 'critical'] as const;
export type Severity = (typeof severities)[number];
export const resolutions = ['matched', 'adjusted', 'written_off', 'false_positive'] as const;
export type Resolution = (typeof resolutions)[number];

/** The statement of one side. */
export interface Side {
  readonly status: string | null;
  readonly asset: string;
  /** Decimal. */
  readonly amount: string;
  readonly fee: { readonly asset: string; readonly amount: string } | null;
  /** The number of such movements: more than one only for duplicates. */
  readonly count: number;
}

export interface InternalSource {
  readonly kind: 'transaction_intent' | 'deposit' | 'withdrawal' | 'exchange' | 'wallet_balance';
  readonly id: string;
  /** Version of the compared record; 0 for records without one. */
  readonly version: number;
  readonly status: string | null;
  readonly atMs: number;
}

export interface ExternalSource {
  /** The provider's own ids. */
  readonly ids: readonly string[];
  readonly reference: string | null;
  readonly txId: string | null;
  readonly status: string | null;
  readonly atMs: number;
}

/** In smallest units, by asset: the amount that `adjusted` adds to the available balance. */
export interface Correction {
  readonly asset: string;
  readonly units: string;
}

/** The result of a comparison. */
export interface ComparisonFinding {
  readonly subject: 'movement' | 'balance';
  readonly type: ExceptionType;
  readonly severity: Severity;
  readonly walletId: string;
  readonly connectionId: string;
  readonly provider: ProviderKind;
  readonly asset: string;
  /** Identifies the subject within the tenant. */
  readonly fingerprint: string;
  readonly explanation: string;
  /** null: that side has nothing. */
  readonly expected: Side | null;
  readonly actual: Side | null;
  /** Signed decimal in `asset`: the provider's effect on the wallet minus ours. */
  readonly delta: string;
  readonly internal: InternalSource | null;
  readonly external: ExternalSource | null;
  readonly corrections: readonly Correction[];
  /** Whether our side is final: only then may an adjustment correct the ledger. */
  readonly isFinal: boolean;
}

type ExceptionStatus = 'open' | 'resolved';

export const exceptionResolving = becoming<ExceptionStatus>('resolved', 'open');

export interface ExceptionRecord extends Versioned, ComparisonFinding {
  readonly status: ExceptionStatus;
  readonly firstJobId: string;
  readonly lastJobId: string;
  /** Jobs that have found it. */
  readonly timesSeen: number;
  readonly resolution: {
    readonly resolution: Resolution;
    readonly note: string | null;
    readonly by: string;
    readonly atMs: number;
    /** The amounts added to the ledger; empty without an adjustment. */
    readonly corrections: readonly Correction[];
  } | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly lastSeenAtMs: number;
}

export const exceptionType: RecordType<ExceptionRecord> = {
  name: 'recon_exception',
  status: ({ status }) => status,
  indices: ({ status, type, severity, walletId, connectionId, fingerprint, firstJobId, lastJobId }) => [
    'recon:exceptions',
    `recon:exceptions:status:${status}`,
    `recon:exceptions:type:${type}`,
    `recon:exceptions:severity:${severity}`,
    `recon:exceptions:wallet:${walletId}`,
    exceptionsOfConnection(connectionId),
    ...new Set([`recon:exceptions:job:${firstJobId}`, `recon:exceptions:job:${lastJobId}`]),
    fingerprintIndex(fingerprint),
  ],
};

export function exceptionsOfConnection(connectionId: string): string {
  return `recon:exceptions:connection:${connectionId}`;
}

/** Every exception of one subject: at most one of them is open. */
export function fingerprintIndex(fingerprint: string): string {
  return `recon:fp:${fingerprint}`;
}

export function fingerprintOf(...words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 32);
}

/** Whether the two sides are unchanged: then a resolved exception stays resolved. */
export function saysTheSame(one: ComparisonFinding, other: ComparisonFinding): boolean {
  return factsOf(one) === factsOf(other);
}

function factsOf({ type, expected, actual, delta, external }: ComparisonFinding): string {
  return JSON.stringify([type, expected, actual, delta, external?.ids]);
}
