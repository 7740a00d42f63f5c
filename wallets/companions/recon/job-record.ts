/**
 * A reconciliation job as stored. A run reads both sides page by page; after each page it writes its progress and the
 * exceptions found, in one change. So after an interruption anywhere any worker can continue the run, without repeating or
 * losing an exception.
 */
import { becoming } from '../../../gateway/api/state-changes.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const jobKinds = ['balances', 'transactions'] as const;
export type JobKind = (typeof jobKinds)[number];
export const jobStatuses = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** The states in which it may be cancelled; repeated, that changes nothing. */
export const jobCancelling = becoming<JobStatus>('cancelled', 'queued', 'running', 'cancelled');

/** Our records, in the order in which a job reads them. */
export const ownPhases = ['transfers', 'deposits', 'exchanges'] as const;
export type OwnPhase = (typeof ownPhases)[number];

/** The side of a wallet that the job reads: our records, the provider's movements; of a balances job: both at once. */
export type JobPhase = OwnPhase | 'statement' | 'balances';

export interface Checkpoint {
  /** The last finished wallet; null: none. */
  readonly afterWallet: string | null;
  /** The wallet in progress; null: the next one begins. */
  readonly wallet: string | null;
  readonly phase: JobPhase;
  /** The position where the phase continues; null: at its beginning. */
  readonly after: string | null;
}

export interface JobProgress {
  readonly walletsTotal: number;
  readonly walletsDone: number;
  /** Compared rows of ours, and of the providers. */
  readonly rowsInternal: number;
  readonly rowsExternal: number;
  /** Wallets whose balances kept changing during the comparison: the job opens no exception for them. */
  readonly walletsUnsettled: number;
  readonly exceptionsFound: number;
  /** New ones among those found; the others were known. */
  readonly exceptionsNew: number;
}

export interface Tolerance {
  /** Decimal, in the compared asset. */
  readonly absolute: string;
  /** Hundredths of a percent of the expected amount. */
  readonly bps: number;
}

export interface JobRecord extends Versioned {
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly connectionId: string | null;
  readonly walletId: string | null;
  readonly asset: string | null;
  /** For a transactions job; null for balances. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly tolerance: Tolerance;
  /** The delay of the provider, or of our side, before a difference counts. */
  readonly lagMs: number;
  readonly progress: JobProgress;
  readonly checkpoint: Checkpoint;
  /** Consecutive failed runs without progress. */
  readonly attempts: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly updatedAtMs: number;
  readonly finishedAtMs: number | null;
}

export const jobType: RecordType<JobRecord> = {
  name: 'recon_job',
  status: ({ status }) => status,
  indices: ({ status, kind, connectionId }) => [
    'recon:jobs',
    `recon:jobs:status:${status}`,
    `recon:jobs:kind:${kind}`,
    ...(connectionId === null ? [] : [jobsOfConnection(connectionId)]),
    ...(isOver(status) ? [] : [openJobsIndex]),
    ...(status === 'running' ? [runningJobsIndex] : []),
  ],
};

export const openJobsIndex = 'recon:jobs:open';
export const runningJobsIndex = 'recon:jobs:running';
/** Jobs of one tenant that run at once. */
export const runningJobsMax = 2;
/** Jobs of one tenant that wait or run. */
export const openJobsMax = 100;
/** The store keeps a job for this long after its end; exceptions stay. */
export const jobKeptMs = 30 * 24 * 3_600_000;

export function jobsOfConnection(connectionId: string): string {
  return `recon:jobs:connection:${connectionId}`;
}

export function isOver(status: JobStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Members of the tenant's due work. */
export const jobDuePrefix = 'recon/';

/** The wallets that a job reads, as an index of wallets. */
export function walletsIndexOf({ connectionId }: Pick<JobRecord, 'connectionId'>): string {
  return connectionId === null ? 'wallets' : `wallets:connection:${connectionId}`;
}

export function nextJob(before: JobRecord, patch: Partial<JobRecord>, nowMs: number): JobRecord {
  return { ...before, ...patch, version: before.version + 1, updatedAtMs: Math.max(before.updatedAtMs, nowMs) };
}

/** The checkpoint of a job that has read nothing, and of each wallet. */
export function firstPlace(kind: JobKind): Checkpoint {
  return { afterWallet: null, wallet: null, phase: kind === 'balances' ? 'balances' : 'transfers', after: null };
}
