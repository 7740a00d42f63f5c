/** Who asked for something that is done later, in the background: as much of a principal as is stored. */
import type { Principal } from '../../api/principal.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';

export interface Actor {
  readonly tenant: string;
  readonly environment: ClusterEnvironment;
  readonly tokenId: string;
  readonly actorId: string;
}

export function actorFrom({ tenant, environment, tokenId, actorId }: Principal): Actor {
  return { tenant, environment, tokenId, actorId };
}

/** Strategies belong to a whole tenant, so their actors see all of it; scopes were checked when they asked. */
export function principalFrom(actor: Actor): Principal {
  return { ...actor, scopes: new Set(), providerConnectionIds: undefined };
}
