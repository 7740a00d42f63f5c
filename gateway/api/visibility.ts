/**
 * The visibility of a provider-scoped token: only resources of its own connections. Anything else does not exist for it, so the
 * answer is 404 and not 403. Other tokens see all of their tenant.
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
  // No connection at all: an empty index.
  return { anyOf: ids.length === 0 ? [indexOf('none')] : ids.map(indexOf) };
}

/** The same 404 for resources that do not exist, belong to another tenant, or lie outside of the token's connections. */
export function noSuch(what: string): ServiceError {
  return new ServiceError('notFound', `no such ${what}`);
}
