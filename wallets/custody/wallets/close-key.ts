/**
 * The jobs after a wallet of our own cluster was archived, frozen, made stricter or disconnected: they revoke clients' open
 * sessions of its key. The change stores the job, so that it runs even if the gateway dies right after it. It is repeated until
 * the cluster confirms it; a repeat is harmless.
 *
 * Archiving itself closes the key of a wallet: its sessions can no longer complete, and the job ends them. Sessions of a frozen
 * or stricter wallet can sign until the job is done, which takes until the coordinator answers.
 */
import type { CallMeta } from '../../providers/port/port.ts';
import type { ClusterSigner } from '../../providers/self-hosted/cluster-signer.ts';
import type { DueEntry, TenantStore } from '../../store/contract.ts';
import { walletType } from './record.ts';

/** What the members of such jobs begin with; the wallet's id follows. */
export const closeKeyPrefix = 'close-key/';

export function closeKeyDue(walletId: string, atMs: number | undefined): DueEntry {
  return { member: `${closeKeyPrefix}${walletId}`, atMs };
}

/**
 * Does a job that was taken from the store. Throws ProviderUnavailable or StoreUnavailable when it must be tried again;
 * it is due again by itself.
 */
export async function closeKey(
  { store, signer }: { readonly store: TenantStore; readonly signer: Pick<ClusterSigner, 'closeKey'> },
  meta: CallMeta,
  member: string,
): Promise<void> {
  const walletId = member.slice(closeKeyPrefix.length);
  const wallet = await store.read(meta.tenant, walletType, walletId);
  // Only an archived wallet is closed, also if the queue names another.
  if (wallet?.status === 'archived' && wallet.provider === 'self_hosted') await signer.closeKey(meta, walletId);
  await store.commit(meta.tenant, { due: [closeKeyDue(walletId, undefined)] });
}

/** What the members of the other jobs begin with; the wallet's id follows. */
export const revokeSessionsPrefix = 'revoke-sessions/';

/**
 * A call that a client began just before the change may reach the coordinator just after the first round, with the old
 * terms: a second round follows, longer after the change than any such call lasts on its way.
 */
const secondRoundMs = 2_000;

export function revokeSessionsDue(walletId: string, changedAtMs: number): DueEntry {
  return { member: `${revokeSessionsPrefix}${walletId}/${changedAtMs}`, atMs: changedAtMs };
}

/** As `closeKey`, for a wallet that was frozen or made stricter. Sessions of the wallet's own intents go on. */
export async function revokeSessions(
  { store, signer }: { readonly store: TenantStore; readonly signer: Pick<ClusterSigner, 'revokeSessions'> },
  meta: CallMeta,
  member: string,
): Promise<void> {
  const [, walletId = '', changedAtMs] = member.split('/');
  await signer.revokeSessions(meta, walletId);
  const secondAtMs = Number(changedAtMs) + secondRoundMs;
  await store.commit(meta.tenant, { due: [{ member, atMs: meta.nowMs < secondAtMs ? secondAtMs : undefined }] });
}

const walletsAtOnce = 20;

/** As `revokeSessions`, for all wallets of a connection that was disconnected. */
export async function revokeOfConnection(
  { store, signer }: { readonly store: TenantStore; readonly signer: Pick<ClusterSigner, 'revokeSessions'> },
  meta: CallMeta,
  member: string,
): Promise<void> {
  const [, connectionId = '', changedAtMs] = member.split('/');
  let afterId: string | undefined;
  do {
    const page = await store.list(meta.tenant, walletType, {
      indices: [`wallets:connection:${connectionId}`, 'wallets:provider:self_hosted'],
      order: 'oldest',
      limit: walletsAtOnce,
      ...(afterId === undefined ? {} : { afterId }),
    });
    await Promise.all(page.items.map(({ id }) => signer.revokeSessions(meta, id)));
    afterId = page.hasMore ? page.nextId : undefined;
  } while (afterId !== undefined);
  const secondAtMs = Number(changedAtMs) + secondRoundMs;
  await store.commit(meta.tenant, { due: [{ member, atMs: meta.nowMs < secondAtMs ? secondAtMs : undefined }] });
}
