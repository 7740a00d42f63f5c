/** Finding tokens and orders for a caller. An id that is unknown, or invisible to its token, gives the same 404. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import type { Balances } from '../../store/contract.ts';
import { type OrderRecord, type OwnTokenRecord, orderType, tokenType } from './record.ts';

export interface FoundToken {
  readonly token: OwnTokenRecord;
  readonly balances: Balances;
}

export async function findToken(context: RequestContext, id: string): Promise<FoundToken> {
  const { store, tenant, principal } = context;
  const found = id.startsWith('tkn_') ? await store.readWithBalances(tenant, tokenType, id) : undefined;
  if (found === undefined || !mayUseConnection(principal, found.record.connectionId)) throw noSuch('token');
  return { token: found.record, balances: found.balances };
}

export async function findOrder(
  { store, tenant, principal }: RequestContext,
  { id, orderId }: { readonly id: string; readonly orderId: string },
): Promise<OrderRecord> {
  const order = orderId.startsWith('ord_') ? await store.read(tenant, orderType, orderId) : undefined;
  if (order?.tokenId !== id || !mayUseConnection(principal, order.connectionId)) throw noSuch('token order');
  return order;
}
