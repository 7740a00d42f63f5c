/** Who calls, once the token is known. Shared by every request of the token: never changed. */

import type { ClusterEnvironment } from '../proto/roster.ts';
import type { Scope } from './scopes.ts';

export interface Principal {
  readonly tenant: string;
  readonly environment: ClusterEnvironment;
  readonly scopes: ReadonlySet<Scope>;
  /** `tok_…` of an issued token; empty for a made-up sandbox token. */
  readonly tokenId: string;
  /** Stays when the token is rotated: see `TokenRecord`. Empty for a made-up sandbox token. */
  readonly actorId: string;
  /** Set on a provider-scoped token: anything of another connection does not exist for it. */
  readonly providerConnectionIds: readonly string[] | undefined;
}

/**
 * Who acted, as approvals and intents name them: the id of the first token of the line, or the tenant for a token that
 * was never issued. Rotating a token keeps its owner's single vote.
 */
export function actorOf({ actorId, tenant }: Principal): string {
  return actorId === '' ? `tenant:${tenant}` : actorId;
}
