/**
 * Resolving an exception, once. `adjusted` also corrects our ledger by what the two sides differ in. The intent or deposit
 * behind it stays as it is: what happened to it is history.
 */
import { ServiceError } from '../../api/errors/service-error.ts';
import { actorOf } from '../../api/principal.ts';
import type { Answer, RequestContext } from '../../api/route.ts';
import { mayUseConnection, noSuch } from '../../api/visibility.ts';
import { intentType } from '../../custody/intents/public.ts';
import {
  correctionChange,
  depositId,
  depositType,
  type LedgerCorrection,
  readWallet,
} from '../../custody/wallets/public.ts';
import { merge, update } from '../../store/changes.ts';
import type { Change, CommitRefusal } from '../../store/contract.ts';
import { exceptionEvent } from './events.ts';
import { type ExceptionRecord, exceptionType, type Resolution } from './exception-record.ts';
import { exceptionView } from './view.ts';

/** Throws ServiceError 404. */
export async function findException(context: RequestContext, id: string): Promise<ExceptionRecord> {
  const { store, tenant, principal } = context;
  const found = id.startsWith('rcx_') ? await store.read(tenant, exceptionType, id) : undefined;
  if (found === undefined || !mayUseConnection(principal, found.connectionId)) throw noSuch('reconciliation exception');
  return found;
}

export async function resolveException(
  context: RequestContext,
  id: string,
  { resolution, note = null }: { readonly resolution: Resolution; readonly note?: string | null },
): Promise<Answer> {
  const before = await findException(context, id);
  if (before.status === 'resolved') {
    throw new ServiceError('conflict', `the exception was resolved as ${before.resolution?.resolution}`);
  }
  const isAdjusted = resolution === 'adjusted';
  const correction: Change = isAdjusted ? await correctionOf(context, before, note) : {};
  const after: ExceptionRecord = {
    ...before,
    version: before.version + 1,
    status: 'resolved',
    resolution: {
      ...{ resolution, note, by: actorOf(context.principal), atMs: context.nowMs },
      corrections: isAdjusted ? before.corrections : [],
    },
    updatedAtMs: Math.max(before.updatedAtMs, context.nowMs),
  };
  return {
    status: 200,
    body: exceptionView(after),
    change: merge(correction, {
      puts: [update(exceptionType, before, after)],
      events: [exceptionEvent(context, 'resolved', after)],
    }),
    onRefusal,
  };
}

/** Throws ServiceError 409 when the ledger cannot be corrected now. */
async function correctionOf(context: RequestContext, exception: ExceptionRecord, note: string | null): Promise<Change> {
  const { corrections, internal, isFinal } = exception;
  if (corrections.length === 0) throw refusal('nothing_to_adjust', 'our ledger has booked what the provider did');
  if (!isFinal) throw refusal('not_final', 'our transfer is not over: its end will be booked');
  const wallet = await readWallet(context, exception.walletId);
  const entries = corrections.map(({ asset, units }) => ({ asset, units: BigInt(units) }));
  const deposit = missedDeposit(exception);
  if (deposit !== undefined) {
    const credited = await context.store.read(context.tenant, depositType, depositId(exception.walletId, deposit.txId));
    if (credited !== undefined) throw refusal('changed_since', creditedMeanwhile);
  }
  const change = correctionChange(context, wallet, {
    ...{ entries, cause: exception.id, note },
    ...(deposit !== undefined && { deposit }),
  });
  if (internal?.kind !== 'transaction_intent') return change;
  // What the correction was computed from must still be so.
  const intent = await context.store.read(context.tenant, intentType, internal.id);
  if (intent?.version !== internal.version) {
    throw refusal('changed_since', 'our transfer has changed since: run a job again');
  }
  return merge(change, { guards: [{ kind: 'version', id: intent.id, version: intent.version }] });
}

const creditedMeanwhile = 'the deposit was credited meanwhile: run a job again';

function missedDeposit(exception: ExceptionRecord): LedgerCorrection['deposit'] {
  const { internal, external, asset, corrections, subject } = exception;
  const units = corrections.find((entry) => entry.asset === asset)?.units;
  const isDeposit =
    subject === 'movement' && internal === null && external?.txId != null && external.reference === null;
  if (!isDeposit || units === undefined || BigInt(units) <= 0n) return undefined;
  return { txId: external.txId!, asset, units, fromAddress: null };
}

function onRefusal(refused: CommitRefusal): Answer {
  if (refused.kind === 'insufficient') {
    throw refusal('insufficient_funds', `the available balance of ${refused.asset} does not cover the correction`);
  }
  if (refused.kind === 'claimed') throw refusal('changed_since', creditedMeanwhile);
  throw new Error(`a resolution was refused for ${refused.kind}`);
}

function refusal(issue: string, message: string): ServiceError {
  return new ServiceError('conflict', message, { details: [{ field: 'resolution', issue, message }] });
}
