/** Reading vaults and keys with the caller's permissions. They belong to no provider connection. */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { noSuch, seesWholeTenant } from '../../../gateway/api/visibility.ts';
import {
  keysIndex,
  keysMax,
  type VaultKeyRecord,
  type VaultRecord,
  vaultKeyType,
  vaultStates,
  vaultType,
} from './record.ts';

export async function readVault({ store, tenant, principal }: RequestContext, id: string): Promise<VaultRecord> {
  const vault = seesWholeTenant(principal) ? await store.read(tenant, vaultType, id) : undefined;
  if (vault === undefined) throw noSuch('vault');
  return vault;
}

/** Throws ServiceError 404, and 409 when it is archived. */
export async function openVault(context: RequestContext, id: string): Promise<VaultRecord> {
  const vault = await readVault(context, id);
  if (isAllowedIn(vaultStates.use, vault.status)) return vault;
  throw vaultArchived();
}

export function vaultArchived(): ServiceError {
  return new ServiceError('conflict', 'the vault is archived', {
    details: [{ field: 'status', issue: 'vault_archived' }],
  });
}

/** A key of this vault. Throws ServiceError 404. */
export async function readKey({ store, tenant }: RequestContext, vault: VaultRecord, keyId: string) {
  const key = await store.read(tenant, vaultKeyType, keyId);
  if (key === undefined || key.vaultId !== vault.id) throw noSuch('key of this vault');
  return key;
}

/** All keys of a vault, oldest first. */
export async function keysOf({ store, tenant }: RequestContext, vaultId: string): Promise<readonly VaultKeyRecord[]> {
  const indices = [keysIndex(vaultId)];
  const { items } = await store.list(tenant, vaultKeyType, { indices, order: 'oldest', limit: keysMax });
  return items;
}
