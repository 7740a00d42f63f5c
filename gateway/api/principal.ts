/** The authenticated caller. Shared by every request of the token: immutable. */

import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { Scope } from './scopes.ts';

export interface Principal {
  readonly tenant: string;
  readonly environment: ClusterEnvironment;
  readonly scopes: ReadonlySet<Scope>;
  /** `tok_…` of an issued token; empty for a made-up sandbox token. */
  readonly tokenId: string;
  /** Stays when the token is rotated: see `TokenRecord`. Empty for a made-up sandbox token. */
  readonly actorId: string;
  /** Of an issued token: its label, and when it was made and ends. */
  readonly token?: { readonly name: string; readonly createdAtMs: number; readonly expiresAtMs: number | undefined };
  /** Set on a provider-scoped token: resources of other connections do not exist for it. */
  readonly providerConnectionIds: readonly string[] | undefined;
}

/**
 * The actor of approvals and intents: the id of the token before any rotation, or the tenant for a token that was never issued.
 * Rotating a token keeps its owner's single vote.
 */
export function actorOf({ actorId, tenant }: Principal): string {
  return actorId === '' ? `tenant:${tenant}` : actorId;
}
