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
  /** Of an issued token: its label, when it was made and ends, and the tokens that issued it (see `TokenRecord`). */
  readonly token?: {
    readonly name: string;
    readonly createdAtMs: number;
    readonly expiresAtMs: number | undefined;
    readonly issuers: readonly string[];
  };
  /** Set on a provider-scoped token: resources of other connections do not exist for it. */
  readonly providerConnectionIds: readonly string[] | undefined;
}

/**
 * The actor of approvals and intents: the id of the first token of its line before any rotation, or the tenant for a token that
 * was never issued. So neither rotating a token nor issuing others with it gives its owner a second vote.
 */
export function actorOf({ actorId, tenant }: Principal): string {
  return actorId === '' ? `tenant:${tenant}` : actorId;
}
