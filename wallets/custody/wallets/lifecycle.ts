/**
 * The lifecycle of a wallet: new settings, freezing, archiving. A frozen wallet takes no new intents and no approvals, and
 * approved intents wait; transfers that the provider already has continue. Archiving is final: for a `self_hosted` wallet the
 * same change closes the key. Jobs of such changes end sessions that clients opened before (close-key.ts).
 */
import type { Static } from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { assertVersion } from '../../../gateway/api/failures.ts';
import { sameMetadata } from '../../../gateway/api/metadata.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn, type StateChanges } from '../../../gateway/api/state-changes.ts';
import type { Change } from '../../store/contract.ts';
import { walletChanged } from './change.ts';
import { closeKeyDue, revokeSessionsDue } from './close-key.ts';
import { assertPolicy, type WalletDeps } from './create.ts';
import { readWallet } from './read.ts';
import { openIntentsIndex, type WalletRecord, type WalletStatus, walletStates } from './record.ts';
import type { PatchBody } from './schemas.ts';
import { walletView } from './view.ts';

/** A patch that changes nothing makes no new version and no event. */
export async function updateWallet(
  deps: WalletDeps,
  context: RequestContext,
  id: string,
  patch: Static<typeof PatchBody>,
): Promise<Answer> {
  const { record, balances } = await readWallet(context, id);
  assertVersion('the wallet', record, patch.expected_version);
  assertAllowed(walletStates.update, record);
  const wanted: Partial<WalletRecord> = {
    ...(patch.name !== undefined && { name: patch.name }),
    ...(patch.policy !== undefined && { policy: patch.policy }),
    ...(patch.approval_mode !== undefined && { approvalMode: patch.approval_mode }),
    ...(patch.signing_api !== undefined && { signingApi: patch.signing_api }),
    ...(patch.external_id !== undefined && { externalId: patch.external_id }),
    ...(patch.metadata !== undefined && { metadata: patch.metadata }),
  };
  if (isSame(record, wanted)) return { status: 200, body: walletView(record, balances) };
  if (wanted.policy !== record.policy) await assertPolicy(deps, context, wanted.policy);
  const { view, change } = walletChanged(context, 'updated', record, wanted, balances);
  return {
    status: 200,
    body: view,
    ...(isStricter(record, wanted) ? revoking(deps, context, record, change) : { change }),
  };
}

/** Idempotent: the first reason stands. Throws ServiceError 409 while intents are open. */
export async function archiveWallet(
  { wake }: Pick<WalletDeps, 'wake'>,
  context: RequestContext,
  id: string,
  reason: string | undefined,
): Promise<Answer> {
  const { tenant, nowMs } = context;
  const { record, balances } = await readWallet(context, id);
  if (record.status === 'archived') return { status: 200, body: walletView(record, balances) };
  const patch = { status: 'archived', archivedAtMs: nowMs, archiveReason: reason ?? null } as const;
  const { view, change } = walletChanged(context, 'archived', record, patch, balances);
  const closesKey = record.provider === 'self_hosted';
  return {
    status: 200,
    body: view,
    change: {
      ...change,
      guards: [{ kind: 'emptyIndex', index: openIntentsIndex(id) }],
      ...(closesKey && { closesKeys: [id], due: [closeKeyDue(id, nowMs)] }),
    },
    onRefusal: (refusal) => {
      if (refusal.kind !== 'notEmpty') throw new Error(`an archiving was refused for ${refusal.kind}`);
      throw new ServiceError('conflict', 'the wallet has open transaction intents', {
        details: [{ field: 'status', issue: 'open_intents', message: 'cancel them or wait until they have ended' }],
      });
    },
    ...(closesKey && wake !== undefined && { afterCommit: () => wake(tenant) }),
  };
}

/** Freezing what is frozen changes nothing, and so does unfreezing what is active. */
export async function setFrozen(
  deps: Pick<WalletDeps, 'wake'>,
  context: RequestContext,
  id: string,
  isFrozen: boolean,
): Promise<Answer> {
  const { record, balances } = await readWallet(context, id);
  assertAllowed(isFrozen ? walletStates.freeze : walletStates.unfreeze, record);
  const status = isFrozen ? 'frozen' : 'active';
  if (record.status === status) return { status: 200, body: walletView(record, balances) };
  const { view, change } = walletChanged(context, isFrozen ? 'frozen' : 'unfrozen', record, { status }, balances);
  return { status: 200, body: view, ...(isFrozen ? revoking(deps, context, record, change) : { change }) };
}

/** Whether a session that a client began before could sign what it could not begin any more. */
function isStricter(record: WalletRecord, { signingApi, approvalMode }: Partial<WalletRecord>): boolean {
  const forIntents = signingApi === 'intents_only' && record.signingApi !== 'intents_only';
  return forIntents || (approvalMode === 'human_required' && record.approvalMode !== 'human_required');
}

/** The change of a wallet, with the job that ends clients' sessions of its key. */
function revoking(
  { wake }: Pick<WalletDeps, 'wake'>,
  { tenant, nowMs }: RequestContext,
  { id, provider }: WalletRecord,
  change: Change,
): Pick<Answer, 'change' | 'afterCommit'> {
  if (provider !== 'self_hosted') return { change };
  return {
    change: { ...change, due: [revokeSessionsDue(id, nowMs)] },
    ...(wake !== undefined && { afterCommit: () => wake(tenant) }),
  };
}

/** Throws ServiceError 409. */
export function assertAllowed(changes: StateChanges<WalletStatus>, { status }: WalletRecord): void {
  if (isAllowedIn(changes, status)) return;
  throw new ServiceError('conflict', 'the wallet is archived', {
    details: [{ field: 'status', issue: 'wallet_archived' }],
  });
}

function isSame(record: WalletRecord, wanted: Partial<WalletRecord>): boolean {
  const { metadata, ...plain } = wanted;
  const words = Object.entries(plain) as [keyof WalletRecord, unknown][];
  if (words.some(([field, value]) => record[field] !== value)) return false;
  return metadata === undefined || sameMetadata(record.metadata, metadata);
}
