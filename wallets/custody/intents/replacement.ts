/**
 * Replaces a transaction that waits because its fee is below the market: an intent of its own, which is evaluated, approved and signed
 * anew. The first keeps its signature. Both compete for one number or the same coins until one is mined (rivals.ts), so what they move
 * is set aside once: the replacement sets aside only what the first has not.
 */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { networkOf } from '../../networks/networks.ts';
import { feeLimitsOf } from '../../providers/chains/public.ts';
import { belowMarketFee, type FeeChoice } from '../../providers/port/port.ts';
import { merge } from '../../store/changes.ts';
import { findAsset, termsOf } from '../assets/token-assets.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { draftOf, madeAnswer, openingOf, verdictOf } from './creation.ts';
import type { IntentDependencies, IntentQueue } from './dependencies.ts';
import { changeOf } from './effects.ts';
import { evaluateOperation, notSupported } from './evaluation.ts';
import { setAside } from './ledger.ts';
import { findIntent, findWallet } from './lookup.ts';
import { offerReplacement } from './machine.ts';
import { type IntentRecord, intentType, numberedId } from './record.ts';
import { rivalsOf } from './rivals.ts';
import { intentStates, isFinal } from './states.ts';

interface ReplacementRequest {
  readonly kind: 'speed_up' | 'cancel';
  readonly policy?: string | undefined;
  readonly metadata?: MetadataValue | undefined;
  readonly fees: FeeChoice;
}

export async function replaceIntent(
  deps: IntentDependencies,
  driver: IntentQueue,
  context: RequestContext,
  params: { readonly id: string; readonly txId: string },
  { kind, policy, metadata, fees }: ReplacementRequest,
): Promise<Answer> {
  const replaced = await findIntent(context, params);
  const found = await findWallet(context, params.id);
  const { wallet } = found;
  assertSupported(deps, replaced);
  await assertNoneOpen(context, replaced);
  const txId = stuckTransactionOf(replaced);
  const family = [replaced, ...(await rivalsOf(context.store, context.tenant, replaced))];
  const symbol = kind === 'cancel' ? networkOf(wallet.network).nativeAsset : replaced.asset;
  const asset = await findAsset(context, symbol);
  if (asset === undefined) throw new Error(`asset ${symbol} of ${replaced.id} is missing`);
  const evaluation = await evaluateOperation(deps, context, found, {
    id: context.newId('txi'),
    kind,
    asset,
    units: kind === 'cancel' ? 0n : BigInt(replaced.units),
    toAddress: kind === 'cancel' ? replaced.fromAddress : replaced.destination.address,
    ...(asset.token !== undefined && { token: termsOf(asset.token) }),
    ...(kind === 'speed_up' && { call: replaced.call }),
    policy,
    metadata,
    fees,
    replaces: {
      id: replaced.id,
      root: numberedId(replaced),
      txId,
      ...(replaced.fees !== undefined && { fees: replaced.fees }),
    },
    held: heldBy(family),
  });
  const draft = draftOf(deps, context, found, evaluation);
  const opening = openingOf(context, { draft, verdict: verdictOf(evaluation), wallet, ...evaluation });
  // In its change, so that of two that are made at once the second sees the first.
  const offer = isFinal(opening.intent.status)
    ? { guards: [{ kind: 'version', id: replaced.id, version: replaced.version }] as const }
    : changeOf(context, offerReplacement(replaced, draft.id, context.nowMs));
  return madeAnswer(driver, context, wallet, opening, merge(evaluation.change, offer));
}

/** Throws ServiceError 422. */
function assertSupported(deps: IntentDependencies, { provider, network, kind, origin }: IntentRecord): void {
  const { hosting, displayName } = adapterOf(deps, provider).info;
  if (hosting !== 'self_hosted') throw notSupported('wallet.provider', `${displayName} sends its transfers itself`);
  if (feeLimitsOf(network) === undefined) {
    throw notSupported('wallet.network', `on ${network} a transaction has a fixed fee and never waits for it`);
  }
  if (kind === 'deploy' || kind === 'mint' || kind === 'burn' || origin !== undefined) {
    throw notSupported('kind', `what it was made for (${origin?.kind ?? kind}) follows this intent alone`);
  }
}

/** Throws ServiceError 409. */
async function assertNoneOpen({ store, tenant }: RequestContext, { replacedBy }: IntentRecord): Promise<void> {
  const open = replacedBy === undefined ? undefined : await store.read(tenant, intentType, replacedBy);
  if (open === undefined || isFinal(open.status)) return;
  throw new ServiceError('conflict', `the intent ${open.id} is to replace it already`, {
    details: [{ field: 'replaced_by', issue: 'replacement_open', message: `cancel ${open.id}, or replace that one` }],
  });
}

/** Throws ServiceError 409. */
function stuckTransactionOf({ status, subStatus, providerTxId }: IntentRecord): string {
  if (isAllowedIn(intentStates.replace, status) && subStatus === belowMarketFee && providerTxId !== null)
    return providerTxId;
  const message = `only a transaction that waits with sub_status ${belowMarketFee} is replaced`;
  throw new ServiceError(
    'conflict',
    `the intent is ${status}${subStatus === null ? '' : ` ${subStatus}`}: ${message}`,
    {
      details: [{ field: 'status', issue: 'not_stuck', message }],
    },
  );
}

function heldBy(family: readonly IntentRecord[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const [asset, units] of family.flatMap((record) => [...setAside(record)])) {
    sums.set(asset, (sums.get(asset) ?? 0n) + units);
  }
  return sums;
}
