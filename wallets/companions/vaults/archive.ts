/**
 * The permanent end of a vault: one change archives it and closes its keys, which sign nothing from then on. Then every node
 * must delete its shares. The change adds a job for each key, which repeats until all nodes have confirmed that their stores
 * hold no byte of the share; then the key is `deleted`.
 */
import type { Reporter } from '../../../gateway/api/event.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import type { CallMeta } from '../../providers/port/port.ts';
import { update } from '../../store/changes.ts';
import type { DueEntry, TenantStore } from '../../store/contract.ts';
import { keyEvent, vaultEvent } from './change.ts';
import type { VaultCluster } from './cluster.ts';
import { keysOf, readVault } from './read.ts';
import { type VaultKeyRecord, type VaultRecord, vaultKeyType, vaultType } from './record.ts';
import { vaultView } from './view.ts';

/** The prefix of such jobs; the key's id follows. */
export const deleteKeyPrefix = 'delete-vault-key/';

function deleteKeyDue(keyId: string, atMs: number | undefined): DueEntry {
  return { member: `${deleteKeyPrefix}${keyId}`, atMs };
}

export interface ArchiveDeps {
  /** Signals that background work of this tenant is due now. Returns at once. */
  readonly wake: (tenant: string) => void;
}

/** Idempotent: the first reason stays. */
export async function archiveVault(
  { wake }: ArchiveDeps,
  context: RequestContext,
  id: string,
  reason: string | undefined,
): Promise<Answer> {
  const { tenant, nowMs } = context;
  const vault = await readVault(context, id);
  if (vault.status === 'archived') return { status: 200, body: vaultView(vault) };
  const after: VaultRecord = {
    ...vault,
    version: vault.version + 1,
    status: 'archived',
    updatedAtMs: nowMs,
    archivedAtMs: nowMs,
    archiveReason: reason ?? null,
  };
  const keys = await keysOf(context, id);
  const closing = keys.map((key) => update(vaultKeyType, key, { ...key, version: key.version + 1, status: 'closing' }));
  return {
    status: 200,
    body: vaultView(after),
    change: {
      puts: [update(vaultType, vault, after), ...closing],
      events: [vaultEvent(context, 'archived', after)],
      closesKeys: keys.map((key) => key.id),
      due: keys.map((key) => deleteKeyDue(key.id, nowMs)),
    },
    afterCommit: () => wake(tenant),
  };
}

/**
 * Runs a job from the store. Throws ProviderUnavailable or StoreUnavailable when it must be tried again; the store makes it due
 * again.
 */
export async function deleteKey(
  {
    store,
    cluster,
    newId,
  }: { readonly store: TenantStore; readonly cluster: Pick<VaultCluster, 'closeKey'> } & Pick<Reporter, 'newId'>,
  meta: CallMeta,
  member: string,
): Promise<void> {
  const keyId = member.slice(deleteKeyPrefix.length);
  const due = [deleteKeyDue(keyId, undefined)];
  const key = await store.read(meta.tenant, vaultKeyType, keyId);
  // Deletes only archived keys, whatever the queue contains.
  if (key?.status !== 'closing') {
    await store.commit(meta.tenant, { due });
    return;
  }
  await cluster.closeKey(meta, keyId);
  const after: VaultKeyRecord = { ...key, version: key.version + 1, status: 'deleted', deletedAtMs: meta.nowMs };
  const reporter = { newId, nowMs: meta.nowMs, requestId: meta.correlationId };
  const events = [keyEvent(reporter, 'deleted', after)];
  await store.commit(meta.tenant, { puts: [update(vaultKeyType, key, after)], events, due });
}
