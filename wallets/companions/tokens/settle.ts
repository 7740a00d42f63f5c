/**
 * Jobs at the end of an intent: a token is deployed or failed, an order completed or failed. The commit that ends the intent
 * makes them due, and each ends in one commit under compare-and-set, so they may be repeated and interrupted anywhere.
 */
import type { Ports } from '../../../core/actors/contract.ts';
import type { Reporter } from '../../../gateway/api/event.ts';
import { newId } from '../../../proto/ids.ts';
import { tokenAssetId, tokenAssetType } from '../../custody/assets/token-assets.ts';
import { type IntentRecord, intentType, isSettled, receiptOf } from '../../custody/intents/public.ts';
import { canonicalAddress } from '../../networks/addresses.ts';
import { merge, remove, update } from '../../store/changes.ts';
import type { Change, LedgerEntry, TenantStore } from '../../store/contract.ts';
import { orderChange, orderMember, tokenChange } from './effects.ts';
import { completeOrder, failOrder, rejectOrder } from './machine.ts';
import {
  type OrderRecord,
  type OwnTokenRecord,
  orderOrigin,
  orderType,
  type TokenFailure,
  tokenOrigin,
  tokenType,
} from './record.ts';
import { releasing } from './reserve-hold.ts';
import { isFinal } from './states.ts';

interface JobDeps extends Pick<Ports, 'clock' | 'random'> {
  readonly store: TenantStore;
}

type Job = (tenant: string, member: string) => Promise<void>;

/** The jobs by the prefix of their members, for the driver of intents. */
export function tokenJobs(deps: JobDeps): readonly (readonly [string, Job])[] {
  return [
    [`${tokenOrigin}/`, (tenant, member) => settle(deps, tenant, member, deployment)],
    [`${orderOrigin}/`, (tenant, member) => settle(deps, tenant, member, orderEnd)],
  ];
}

/** The most retries of a change after a conflict. */
const conflictRetriesMax = 20;

type Decide = (store: TenantStore, tenant: string, id: string, reporter: Reporter) => Promise<Change>;

/** Throws StoreUnavailable: then the lease makes the job due again. */
async function settle(
  { store, clock, random }: JobDeps,
  tenant: string,
  member: string,
  decide: Decide,
): Promise<void> {
  const id = member.slice(member.indexOf('/') + 1);
  for (let run = 0; run <= conflictRetriesMax; run += 1) {
    const nowMs = clock.nowMs();
    const reporter: Reporter = { nowMs, requestId: id, newId: (prefix) => newId(prefix, nowMs, random) };
    const outcome = await store.commit(tenant, await decide(store, tenant, id, reporter));
    if (outcome.committed) return;
    if (outcome.refusal.kind !== 'conflict') throw new Error(`${member} was refused: ${outcome.refusal.kind}`);
  }
  throw new Error(`${member} keeps changing`);
}

const deployment: Decide = async (store, tenant, id, reporter) => {
  const done = { due: [{ member: `${tokenOrigin}/${id}`, atMs: undefined }] };
  const token = await store.read(tenant, tokenType, id);
  if (token?.status !== 'deploying') return done;
  const intent = await store.read(tenant, intentType, token.intentId);
  // The end of the intent makes it due again.
  if (intent === undefined || !isSettled(intent)) return done;
  const asset = await store.read(tenant, tokenAssetType, tokenAssetId(token.symbol));
  if (asset === undefined) throw new Error(`the asset of ${id} is missing`);
  const next = (patch: Partial<OwnTokenRecord>): OwnTokenRecord => ({
    ...token,
    ...patch,
    version: token.version + 1,
    updatedAtMs: reporter.nowMs,
  });
  const deployed = receiptOf(intent.submission)?.contract_address ?? undefined;
  if (intent.status !== 'completed' || deployed === undefined) {
    const failed = next({ status: 'failed', error: failureOf(intent) });
    // The symbol is free again.
    return merge(done, tokenChange(reporter, 'failed', token, failed), { removals: [remove(tokenAssetType, asset)] });
  }
  const contract = canonicalAddress(token.network, deployed);
  return merge(done, tokenChange(reporter, 'deployed', token, next({ status: 'active', contract })), {
    puts: [update(tokenAssetType, asset, { ...asset, status: 'active', contract, version: asset.version + 1 })],
    ledger: [{ walletId: id, asset: token.symbol, available: BigInt(token.supplyCap), reserved: 0n }],
  });
};

const orderEnd: Decide = async (store, tenant, id, reporter) => {
  const { nowMs } = reporter;
  const done: Change = { due: [{ member: orderMember(id), atMs: undefined }] };
  const order = await store.read(tenant, orderType, id);
  if (order === undefined || isFinal(order.status)) return done;
  if (order.status === 'pending_approval') {
    if (nowMs < order.expiresAtMs) return { due: [{ member: orderMember(id), atMs: order.expiresAtMs }] };
    const error = { code: 'EXPIRED', message: 'the approvals were late' };
    return orderChange(reporter, rejectOrder(order, 'EXPIRED', error, nowMs));
  }
  const intent = await store.read(tenant, intentType, order.draft.id);
  // The end of the intent makes it due again.
  if (intent === undefined || !isSettled(intent)) return done;
  const released = order.status === 'processing' ? await releasing(store, tenant, order) : {};
  if (intent.status === 'completed') {
    return merge(orderChange(reporter, completeOrder(order, nowMs)), released, { ledger: [completedEntry(order)] });
  }
  const failed = orderChange(
    reporter,
    failOrder(order, `INTENT_${intent.status.toUpperCase()}`, failureOf(intent), nowMs),
  );
  return order.kind === 'mint' && order.status === 'processing'
    ? merge(failed, released, { ledger: [givingBack(order)] })
    : merge(failed, released);
};

/** Minted units are in circulation; burnt units may be minted again. */
function completedEntry({ kind, tokenId: walletId, asset, units }: OrderRecord): LedgerEntry {
  const moved = BigInt(units);
  return kind === 'mint'
    ? { walletId, asset, available: 0n, reserved: -moved }
    : { walletId, asset, available: moved, reserved: 0n };
}

function givingBack({ tokenId: walletId, asset, units }: OrderRecord): LedgerEntry {
  return { walletId, asset, available: BigInt(units), reserved: -BigInt(units) };
}

function failureOf({ status, providerError, subStatus }: IntentRecord): TokenFailure {
  return providerError ?? { code: subStatus ?? status.toUpperCase(), message: `its transaction intent is ${status}` };
}
