/**
 * What a provider-scoped token sees: the resources of its own connections. Anything else does not exist for it, so that
 * it answers 404 and not 403. Other tokens see all of their tenant.
 */

import { ServiceError } from './errors/service-error.ts';
import type { Principal } from './principal.ts';

export function mayUseConnection({ providerConnectionIds: ids }: Principal, connectionId: string): boolean {
  return ids === undefined || ids.includes(connectionId);
}

/** Whether the token sees things that belong to no connection, and those of all connections. */
export function seesWholeTenant({ providerConnectionIds }: Principal): boolean {
  return providerConnectionIds === undefined;
}

/**
 * For `ListQuery`: spread it in. `indexOf` names the index that lists a connection's resources, e.g.
 * (id) => `wallets:connection:${id}`.
 */
export function visibleIndices(
  { providerConnectionIds: ids }: Principal,
  indexOf: (connectionId: string) => string,
): { readonly anyOf?: readonly string[] } {
  if (ids === undefined) return {};
  // No connection at all: an index in which nothing stands.
  return { anyOf: ids.length === 0 ? [indexOf('none')] : ids.map(indexOf) };
}

/** The 404 for what does not exist, belongs to another tenant, or lies outside of the token's connections: all alike. */
export function noSuch(what: string): ServiceError {
  return new ServiceError('notFound', `no such ${what}`);
}
