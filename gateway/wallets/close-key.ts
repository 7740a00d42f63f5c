/**
 * The key of an archived wallet of our own cluster is closed: its open signing sessions are revoked and it signs nothing
 * any more. The archiving leaves this job in the store, in the same change, so that it is done even when the gateway dies
 * right after it. It is repeated until the cluster has confirmed it; repeating it does no harm.
 */
import type { CallMeta } from '../providers/port.ts';
import type { ClusterSigner } from '../signing/cluster-signer.ts';
import type { DueEntry, TenantStore } from '../store/contract.ts';
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
  // Only what was archived is ever closed, whatever stands in the queue.
  if (wallet?.status === 'archived' && wallet.provider === 'self_hosted') await signer.closeKey(meta, walletId);
  await store.commit(meta.tenant, { due: [closeKeyDue(walletId, undefined)] });
}
