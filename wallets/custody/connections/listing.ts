/** Lists of connections, newest first: all of a tenant, or those that a limited token may see. */

import type { RequestContext } from '../../../gateway/api/route.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { Page } from '../../store/contract.ts';
import { type ConnectionRecord, type ConnectionStatus, connectionType } from './record.ts';

export interface ConnectionFilter {
  readonly provider?: ProviderKind | undefined;
  readonly status?: ConnectionStatus | undefined;
  readonly limit: number;
  readonly afterId?: string;
}

export async function listConnections(
  context: RequestContext,
  { provider, status, ...page }: ConnectionFilter,
): Promise<Page<ConnectionRecord>> {
  const { providerConnectionIds } = context.principal;
  if (providerConnectionIds !== undefined) {
    return listNamed(context, providerConnectionIds, { provider, status, ...page });
  }
  return context.store.list(context.tenant, connectionType, {
    indices: [
      'connections',
      ...(provider === undefined ? [] : [`connections:provider:${provider}`]),
      ...(status === undefined ? [] : [`connections:status:${status}`]),
    ],
    order: 'newest',
    ...page,
  });
}

/** A token names few connections: they are read whole. */
async function listNamed(
  { store, tenant }: RequestContext,
  ids: readonly string[],
  { provider, status, limit, afterId }: ConnectionFilter,
): Promise<Page<ConnectionRecord>> {
  const found = await store.readMany(tenant, connectionType, [...new Set(ids)]);
  const wanted = found
    .filter((connection) => connection !== undefined)
    .filter((connection) => provider === undefined || connection.provider === provider)
    .filter((connection) => status === undefined || connection.status === status)
    .filter(({ id }) => afterId === undefined || id < afterId)
    .sort((one, other) => (one.id < other.id ? 1 : -1));
  const items = wanted.slice(0, limit);
  const hasMore = wanted.length > limit;
  return { items, balances: new Map(), hasMore, nextId: hasMore ? items.at(-1)?.id : undefined };
}
