/** The job of a disconnected connection: it revokes the sessions of its wallets' keys (wallets/close-key.ts). */
import type { DueEntry } from '../../store/contract.ts';

/** What the members of the jobs of disconnected connections begin with; the connection's id follows. */
export const revokeConnectionPrefix = 'revoke-connection/';

export function revokeConnectionDue(connectionId: string, changedAtMs: number): DueEntry {
  return { member: `${revokeConnectionPrefix}${connectionId}/${changedAtMs}`, atMs: changedAtMs };
}
