/**
 * A difference between our ledger and a provider's books, as the store keeps it. One subject (a movement, or the balance
 * of an asset of a wallet) has one open exception at most: a later job that meets it again changes that one. It is resolved
 * once, and stays resolved until what the two sides say changes.
 */
import { createHash } from 'node:crypto';
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

/** What one side says. */
export interface Side {
  readonly status: string | null;
  readonly asset: string;
  /** Decimal. */
  readonly amount: string;
  readonly fee: { readonly asset: string; readonly amount: string } | null;
  /** Movements that say so: more than one only in duplicates. */
  readonly count: number;
}

export interface InternalSource {
  readonly kind: 'transaction_intent' | 'deposit' | 'exchange' | 'wallet_balance';
  readonly id: string;
  /** Of the record as it was compared; 0 for what has no version. */
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

/** In smallest units, by asset: what `adjusted` adds to the available balance. */
export interface Correction {
  readonly asset: string;
  readonly units: string;
}

/** What a comparison finds. */
export interface Finding {
  readonly subject: 'movement' | 'balance';
  readonly type: ExceptionType;
  readonly severity: Severity;
  readonly walletId: string;
  readonly connectionId: string;
  readonly provider: ProviderKind;
  readonly asset: string;
  /** Tells the subject from all others of the tenant. */
  readonly fingerprint: string;
  readonly explanation: string;
  /** null: there is nothing on that side. */
  readonly expected: Side | null;
  readonly actual: Side | null;
  /** Signed decimal in `asset`: what the provider's side adds to the wallet beyond ours. */
  readonly delta: string;
  readonly internal: InternalSource | null;
  readonly external: ExternalSource | null;
  readonly corrections: readonly Correction[];
  /** Whether our side is final: only then may the ledger be corrected. */
  readonly isFinal: boolean;
}

export interface ExceptionRecord extends Versioned, Finding {
  readonly status: 'open' | 'resolved';
  readonly firstJobId: string;
  readonly lastJobId: string;
  /** Jobs that have met it. */
  readonly timesSeen: number;
  readonly resolution: {
    readonly resolution: Resolution;
    readonly note: string | null;
    readonly by: string;
    readonly atMs: number;
    /** What was added to the ledger; empty unless it was adjusted. */
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

/** What the two sides say: while it is the same, a resolved exception stays resolved. */
export function saysTheSame(one: Finding, other: Finding): boolean {
  return factsOf(one) === factsOf(other);
}

function factsOf({ type, expected, actual, delta, external }: Finding): string {
  return JSON.stringify([type, expected, actual, delta, external?.ids]);
}
