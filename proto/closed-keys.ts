/**
 * The key of an archived wallet is closed by one mark in Redis, beside everything else of its tenant. The gateway sets it in
 * the very change that archives the wallet, the coordinator checks it in every write that would open, resume or complete
 * a session of the key. It stands for ever.
 */

/** Behind the tenant's prefix. `keyId`: of a wallet. */
export function closedKeyName(keyId: string): string {
  return `closed:${keyId}`;
}
