/** Jobs and exceptions as the API and their events show them: snake_case, times as RFC 3339, amounts as decimals. */
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import type { Correction, ExceptionRecord, ExternalSource, InternalSource } from './exception-record.ts';
import type { JobRecord } from './job-record.ts';

export function jobView(job: JobRecord) {
  const { progress, tolerance } = job;
  return {
    id: job.id,
    kind: job.kind,
    status: job.status,
    scope: { provider_connection_id: job.connectionId, wallet_id: job.walletId, asset: job.asset },
    from: timestampOrNull(job.fromMs),
    to: timestampOrNull(job.toMs),
    tolerance,
    lag_s: job.lagMs / 1_000,
    progress: {
      percent: percentOf(job),
      wallets_total: progress.walletsTotal,
      wallets_done: progress.walletsDone,
      wallets_unsettled: progress.walletsUnsettled,
      rows_internal: progress.rowsInternal,
      rows_external: progress.rowsExternal,
      exceptions_found: progress.exceptionsFound,
      exceptions_new: progress.exceptionsNew,
    },
    error: job.error,
    created_by: job.createdBy,
    version: job.version,
    created_at: timestamp(job.createdAtMs),
    updated_at: timestamp(job.updatedAtMs),
    started_at: timestampOrNull(job.startedAtMs),
    finished_at: timestampOrNull(job.finishedAtMs),
  };
}

/** Wallets are counted when a job begins; the job also reads wallets created meanwhile. */
function percentOf({ status, progress: { walletsDone, walletsTotal } }: JobRecord): number {
  if (status === 'completed') return 100;
  return walletsTotal === 0 ? 0 : Math.min(99, Math.floor((100 * walletsDone) / walletsTotal));
}

export function exceptionView(exception: ExceptionRecord) {
  const { resolution } = exception;
  return {
    id: exception.id,
    type: exception.type,
    subject: exception.subject,
    severity: exception.severity,
    status: exception.status,
    wallet_id: exception.walletId,
    provider: exception.provider,
    provider_connection_id: exception.connectionId,
    asset: exception.asset,
    explanation: exception.explanation,
    expected: exception.expected,
    actual: exception.actual,
    delta: exception.delta,
    sources: { internal: internalView(exception.internal), external: externalView(exception.external) },
    corrections: exception.corrections.map(correctionView),
    first_job_id: exception.firstJobId,
    last_job_id: exception.lastJobId,
    times_seen: exception.timesSeen,
    resolution:
      resolution === null
        ? null
        : {
            resolution: resolution.resolution,
            note: resolution.note,
            by: resolution.by,
            at: timestamp(resolution.atMs),
            corrections: resolution.corrections.map(correctionView),
          },
    version: exception.version,
    created_at: timestamp(exception.createdAtMs),
    updated_at: timestamp(exception.updatedAtMs),
    last_seen_at: timestamp(exception.lastSeenAtMs),
  };
}

export function correctionView({ asset, units }: Correction) {
  return { asset, amount: formatAmount(BigInt(units), assetOf(asset)!.decimals) };
}

function internalView(source: InternalSource | null) {
  if (source === null) return null;
  const { kind, id, status, atMs } = source;
  return { kind, id, status, at: timestamp(atMs) };
}

function externalView(source: ExternalSource | null) {
  if (source === null) return null;
  const { ids, reference, txId, status, atMs } = source;
  return { ids, reference, tx_id: txId, status, at: timestamp(atMs) };
}
