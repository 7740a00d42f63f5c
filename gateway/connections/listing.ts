/** Lists of connections: all of a tenant, or those that a limited token may see. */
import { ServiceError } from '../errors/service-error.ts';
import type { ProviderKind } from '../providers/kinds.ts';
import type { RequestContext } from '../rest/route.ts';
import { type ConnectionRecord, type ConnectionStatus, connectionType } from './record.ts';

export interface ConnectionFilter {
  readonly provider?: ProviderKind | undefined;
  readonly status?: ConnectionStatus | undefined;
  readonly limit: number;
  readonly afterId?: string | undefined;
}

export interface ConnectionPage {
  readonly items: readonly ConnectionRecord[];
  readonly nextId: string | undefined;
}

/** Newest first. */
export async function listConnections(context: RequestContext, filter: ConnectionFilter): Promise<ConnectionPage> {
  const { providerConnectionIds } = context.principal;
  if (providerConnectionIds !== undefined) return listNamed(context, providerConnectionIds, filter);
  const { provider, status, limit, afterId } = filter;
  const { items, nextId } = await context.store.list(context.tenant, connectionType, {
    indices: [
      'connections',
      ...(provider === undefined ? [] : [`connections:provider:${provider}`]),
      ...(status === undefined ? [] : [`connections:status:${status}`]),
    ],
    order: 'newest',
    limit,
    ...(afterId !== undefined && { afterId }),
  });
  return { items, nextId };
}

/** A token names few connections: they are read whole. */
async function listNamed(
  { store, tenant }: RequestContext,
  ids: readonly string[],
  { provider, status, limit, afterId }: ConnectionFilter,
): Promise<ConnectionPage> {
  const wanted = (await store.readMany(tenant, connectionType, [...new Set(ids)]))
    .filter((connection) => connection !== undefined)
    .filter((connection) => provider === undefined || connection.provider === provider)
    .filter((connection) => status === undefined || connection.status === status)
    .filter(({ id }) => afterId === undefined || id < afterId)
    .sort((one, other) => (one.id < other.id ? 1 : -1));
  const items = wanted.slice(0, limit);
  return { items, nextId: wanted.length > limit ? items.at(-1)?.id : undefined };
}

const limitDefault = 50;

/** Throws ServiceError 400 for a cursor that is none of ours. */
export function pageOf(query: { readonly limit?: string; readonly cursor?: string }): {
  readonly limit: number;
  readonly afterId: string | undefined;
} {
  const limit = query.limit === undefined ? limitDefault : Number(query.limit);
  if (query.cursor === undefined) return { limit, afterId: undefined };
  const afterId = Buffer.from(query.cursor, 'base64url').toString('latin1');
  if (/^pcn_[0-9a-f-]{36}$/.test(afterId)) return { limit, afterId };
  throw new ServiceError('invalidRequest', 'the cursor is not one of this list', {
    details: [{ field: 'cursor', issue: 'invalid_format', message: 'takes next_cursor of the page before' }],
  });
}

export function cursorOf(nextId: string | undefined): string | null {
  return nextId === undefined ? null : Buffer.from(nextId, 'latin1').toString('base64url');
}
