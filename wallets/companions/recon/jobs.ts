/** Creates and cancels jobs, and checks who may see them. */

import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { mayUseConnection, noSuch, seesWholeTenant } from '../../../gateway/api/visibility.ts';
import { connectionType } from '../../custody/connections/public.ts';
import { readWallet } from '../../custody/wallets/public.ts';
import { amountTakes, parseAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { create, update } from '../../store/changes.ts';
import { jobEvent } from './events.ts';
import {
  firstPlace,
  type JobProgress,
  type JobRecord,
  jobCancelling,
  jobDuePrefix,
  jobKeptMs,
  jobType,
  nextJob,
  openJobsIndex,
  openJobsMax,
} from './job-record.ts';
import { type JobBody, lagDefaultS, windowDefaultMs, windowMaxMs } from './schemas.ts';
import { jobView } from './view.ts';

/** Tells the driver that the tenant has due work. */
export type Wake = (tenant: string) => void;

type Body = Static<typeof JobBody>;

const nothingDone: JobProgress = {
  ...{ walletsTotal: 0, walletsDone: 0, walletsUnsettled: 0 },
  ...{ rowsInternal: 0, rowsExternal: 0, exceptionsFound: 0, exceptionsNew: 0 },
};

export async function createJob(context: RequestContext, body: Body, wake: Wake): Promise<Answer> {
  const { tenant, nowMs, principal } = context;
  const { connectionId, walletId } = await scopeOf(context, body);
  const { kind, scope = {}, tolerance = {}, lag_s: lagS = lagDefaultS } = body;
  const window = windowOf(body, nowMs);
  checkAmounts(body);
  const id = context.newId('rcj');
  const job: JobRecord = {
    ...{ id, version: 1, kind, status: 'queued', connectionId, walletId, asset: scope.asset ?? null, ...window },
    tolerance: { absolute: tolerance.absolute ?? '0', bps: tolerance.bps ?? 0 },
    ...{ lagMs: lagS * 1_000, progress: nothingDone, checkpoint: firstPlace(kind), attempts: 0, error: null },
    ...{ createdBy: actorOf(principal), createdAtMs: nowMs, updatedAtMs: nowMs, startedAtMs: null, finishedAtMs: null },
  };
  return {
    status: 202,
    body: jobView(job),
    change: {
      puts: [create(jobType, job)],
      guards: [{ kind: 'count', index: openJobsIndex, min: 0, max: await roomFor(context) }],
      events: [jobEvent(context, 'created', job)],
      due: [{ member: `${jobDuePrefix}${id}`, atMs: nowMs }],
    },
    afterCommit: () => wake(tenant),
  };
}

/** The count of open jobs that the guard of a new job allows. Throws ServiceError 409 when the tenant has its maximum. */
async function roomFor({ store, tenant }: RequestContext): Promise<number> {
  if ((await store.count(tenant, openJobsIndex)) >= openJobsMax) {
    throw new ServiceError('conflict', `${openJobsMax} reconciliation jobs wait or run: cancel one, or wait`);
  }
  return openJobsMax - 1;
}

/** Throws ServiceError 404 for a resource that the token does not see, 400 if it must name one of its connections. */
async function scopeOf(context: RequestContext, { scope = {} }: Body) {
  const { wallet_id: walletId = null, provider_connection_id: named = null } = scope;
  if (walletId !== null) {
    const { record } = await readWallet(context, walletId);
    if (named !== null && named !== record.connectionId) throw noSuch('wallet');
    return { walletId, connectionId: record.connectionId };
  }
  if (named === null) {
    if (!seesWholeTenant(context.principal)) {
      throw invalid({ field: 'scope', issue: 'missing_required', message: 'names a connection of this token' });
    }
    return { walletId, connectionId: null };
  }
  const connection = await context.store.read(context.tenant, connectionType, named);
  if (connection === undefined || !mayUseConnection(context.principal, named)) throw noSuch('provider connection');
  return { walletId, connectionId: named };
}

function windowOf({ kind, from, to }: Body, nowMs: number): Pick<JobRecord, 'fromMs' | 'toMs'> {
  if (kind === 'balances') {
    const field = from === undefined ? 'to' : 'from';
    if (from !== undefined || to !== undefined) {
      throw invalid({ field, issue: 'not_supported', message: 'balances are compared as they are now' });
    }
    return { fromMs: null, toMs: null };
  }
  // The end is exclusive, and a movement of this very millisecond may have been answered before this job was asked for.
  const endMs = nowMs + 1;
  const toMs = to === undefined ? endMs : Math.min(Date.parse(to), endMs);
  const fromMs = from === undefined ? toMs - windowDefaultMs : Date.parse(from);
  if (fromMs >= toMs)
    throw invalid({ field: 'from', issue: 'too_large', message: 'takes a time before `to`, and past' });
  if (fromMs < nowMs - windowMaxMs) {
    throw invalid({ field: 'from', issue: 'too_small', message: 'takes a time of the last 30 days' });
  }
  return { fromMs, toMs };
}

function checkAmounts({ scope, tolerance }: Body): void {
  if (scope?.asset !== undefined && assetOf(scope.asset) === undefined) {
    throw invalid({ field: 'scope.asset', issue: 'unknown_asset' });
  }
  const problem = tolerance?.absolute === undefined ? 0n : parseAmount(tolerance.absolute, 18);
  if (typeof problem !== 'bigint' && problem !== 'must_be_positive') {
    throw invalid({ field: 'tolerance.absolute', issue: problem, message: `${amountTakes(problem, 18)}, or 0` });
  }
}

function invalid(detail: FieldIssue): ServiceError {
  return invalidFields([detail]);
}

/** Throws ServiceError 404. */
export async function findJob({ store, tenant, principal }: RequestContext, id: string): Promise<JobRecord> {
  const job = id.startsWith('rcj_') ? await store.read(tenant, jobType, id) : undefined;
  const isVisible =
    job !== undefined &&
    (job.connectionId === null ? seesWholeTenant(principal) : mayUseConnection(principal, job.connectionId));
  if (!isVisible) throw noSuch('reconciliation job');
  return job;
}

/** Its run ends at its next change, which finds another version. */
export async function cancelJob(context: RequestContext, id: string): Promise<Answer> {
  const { nowMs } = context;
  const before = await findJob(context, id);
  if (before.status === 'cancelled') return { status: 200, body: jobView(before) };
  if (!isAllowedIn(jobCancelling, before.status)) throw new ServiceError('conflict', `the job is ${before.status}`);
  const job = nextJob(before, { status: 'cancelled', finishedAtMs: nowMs }, nowMs);
  return {
    status: 200,
    body: jobView(job),
    change: {
      puts: [update(jobType, before, job, jobKeptMs)],
      events: [jobEvent(context, 'cancelled', job)],
      due: [{ member: `${jobDuePrefix}${id}`, atMs: undefined }],
    },
  };
}
