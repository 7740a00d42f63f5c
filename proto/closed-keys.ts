/**
 * The key of an archived wallet is closed by one mark in Redis, with the tenant's other keys. The gateway sets it in
 * the same change that archives the wallet, the coordinator checks it in every write that would open, resume or complete
 * a session of the key. It is permanent.
 */

/** Follows the tenant's prefix. `keyId`: of a wallet. */
export function closedKeyName(keyId: string): string {
  return `closed:${keyId}`;
}
