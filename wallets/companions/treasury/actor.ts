/** The initiator of work that runs later in the background: the stored part of a principal. */
import type { Principal } from '../../../gateway/api/principal.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';

export interface Actor {
  readonly tenant: string;
  readonly environment: ClusterEnvironment;
  readonly tokenId: string;
  readonly actorId: string;
}

export function actorFrom({ tenant, environment, tokenId, actorId }: Principal): Actor {
  return { tenant, environment, tokenId, actorId };
}

/** Strategies belong to a whole tenant, so their actors see all of it; their requests already checked scopes. */
export function principalFrom(actor: Actor): Principal {
  return { ...actor, scopes: new Set(), providerConnectionIds: undefined };
}
