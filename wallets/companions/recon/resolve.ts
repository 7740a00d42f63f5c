/**
 * Resolves an exception, once. `adjusted` also corrects our ledger by the difference of the two sides. The intent or deposit
 * behind it does not change: it is history. A correction omits the part that an earlier correction already made.
 */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import { intentType } from '../../custody/intents/public.ts';
import {
  correctionChange,
  depositId,
  depositType,
  type LedgerCorrection,
  readWallet,
  type WalletRead,
} from '../../custody/wallets/public.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { merge, update } from '../../store/changes.ts';
import type { Change, CommitRefusal, Guard } from '../../store/contract.ts';
import { exceptionEvent } from './events.ts';
import {
  type Correction,
  type ExceptionRecord,
  exceptionResolving,
  exceptionType,
  fingerprintIndex,
  fingerprintOf,
  type Resolution,
} from './exception-record.ts';
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
  if (!isAllowedIn(exceptionResolving, before.status)) {
    throw new ServiceError('conflict', `the exception was resolved as ${before.resolution?.resolution}`);
  }
  const isAdjusted = resolution === 'adjusted';
  const { corrections, change } = isAdjusted
    ? await correctionOf(context, before, note)
    : { corrections: [], change: {} };
  const after: ExceptionRecord = {
    ...before,
    version: before.version + 1,
    status: 'resolved',
    resolution: {
      ...{ resolution, note, by: actorOf(context.principal), atMs: context.nowMs },
      corrections,
    },
    updatedAtMs: Math.max(before.updatedAtMs, context.nowMs),
  };
  return {
    status: 200,
    body: exceptionView(after),
    change: merge(change, {
      puts: [update(exceptionType, before, after)],
      events: [exceptionEvent(context, 'resolved', after)],
    }),
    onRefusal,
  };
}

interface Adjustment {
  readonly corrections: readonly Correction[];
  readonly change: Change;
}

/** Throws ServiceError 409 if the ledger cannot be corrected now. */
async function correctionOf(
  context: RequestContext,
  exception: ExceptionRecord,
  note: string | null,
): Promise<Adjustment> {
  const { internal, isFinal } = exception;
  if (exception.corrections.length === 0) {
    throw refusal('nothing_to_adjust', 'our ledger has booked the provider’s movement');
  }
  if (!isFinal) throw refusal('not_final', 'our transfer is not over: its end will be booked');
  const wallet = await readWallet(context, exception.walletId);
  const { corrections, guards } =
    exception.subject === 'balance' ? ofBalance(exception, wallet) : await ofMovement(context, exception);
  const entries = corrections.map(({ asset, units }) => ({ asset, units: BigInt(units) }));
  const deposit = missedDeposit(exception);
  if (deposit !== undefined) {
    const credited = await context.store.read(context.tenant, depositType, depositId(exception.walletId, deposit.txId));
    if (credited !== undefined) throw refusal('changed_since', creditedMeanwhile);
  }
  const change = merge(
    correctionChange(context, wallet, {
      ...{ entries, cause: exception.id, note },
      ...(deposit !== undefined && { deposit }),
    }),
    { guards },
  );
  if (internal?.kind !== 'transaction_intent') return { corrections, change };
  // The inputs of the correction must be unchanged.
  const intent = await context.store.read(context.tenant, intentType, internal.id);
  if (intent?.version !== internal.version) {
    throw refusal('changed_since', 'our transfer has changed since: run a job again');
  }
  const guard = { kind: 'version', id: intent.id, version: intent.version } as const;
  return { corrections, change: merge(change, { guards: [guard] }) };
}

interface Guarded {
  readonly corrections: readonly Correction[];
  readonly guards: readonly Guard[];
}

/** Computed from the earlier ledger state, so it includes movements that were adjusted since. Throws ServiceError 409. */
function ofBalance({ asset, walletId, expected, corrections }: ExceptionRecord, { balances }: WalletRead): Guarded {
  const { available, reserved } = balances.get(asset) ?? { available: 0n, reserved: 0n };
  if (formatAmount(available + reserved, assetOf(asset)!.decimals) !== expected!.amount) {
    throw refusal('changed_since', 'the balance has changed since: run a job again');
  }
  return { corrections, guards: [{ kind: 'available', walletId, asset, min: available, max: available }] };
}

/** The correction of a movement, minus those of its earlier exceptions. Throws ServiceError 409. */
async function ofMovement({ store, tenant }: RequestContext, exception: ExceptionRecord): Promise<Guarded> {
  const { walletId, fingerprint, internal, external } = exception;
  const adjusted = async (subject: string): Promise<readonly ExceptionRecord[]> => {
    const query = { indices: [fingerprintIndex(subject)], order: 'newest', limit: 100 } as const;
    return (await store.list(tenant, exceptionType, query)).items;
  };
  const sums = new Map(exception.corrections.map(({ asset, units }) => [asset, BigInt(units)]));
  for (const { resolution } of await adjusted(fingerprint)) {
    for (const { asset, units } of resolution?.corrections ?? []) {
      sums.set(asset, (sums.get(asset) ?? 0n) - BigInt(units));
    }
  }
  const corrections = [...sums].flatMap(([asset, units]) => (units === 0n ? [] : [{ asset, units: String(units) }]));
  if (corrections.length === 0) throw refusal('nothing_to_adjust', 'the ledger was already corrected by this');
  const balances = await Promise.all(
    corrections.map(({ asset }) => adjusted(fingerprintOf('balance', walletId, asset))),
  );
  const movedAtMs = Math.max(internal?.atMs ?? 0, external?.atMs ?? 0);
  const isCounted = ({ resolution }: ExceptionRecord): boolean =>
    resolution?.resolution === 'adjusted' && resolution.atMs >= movedAtMs;
  if (balances.flat().some(isCounted)) {
    throw refusal('changed_since', 'a later adjustment of the balance included this');
  }
  const guards = balances.flat().map(({ id, version }) => ({ kind: 'version', id, version }) as const);
  return { corrections, guards };
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
