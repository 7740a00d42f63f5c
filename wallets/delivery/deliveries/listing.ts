/** Pages of a webhook's delivery log. The type of an event has no index: it is looked for in portions. */
import type { CreatedRange } from '../../../gateway/api/pages.ts';
import type { Page, TenantStore } from '../../store/contract.ts';
import { type DeliveryRecord, type DeliveryStatus, deliveryIndex, deliveryType } from './record.ts';
import { matchesType } from './webhook-service.ts';

export interface DeliveryQuery extends CreatedRange {
  readonly webhookId: string;
  readonly status?: DeliveryStatus;
  /** Exact, or a beginning that ends in ".*". */
  readonly eventType?: string;
  readonly limit: number;
  readonly afterId?: string;
}

const portion = 100;
const portionsMax = 10;

/** Newest event first. A page may be shorter than its limit and still have more. */
export async function listDeliveries(
  store: Pick<TenantStore, 'list'>,
  tenant: string,
  { webhookId, status, eventType, limit, afterId, ...range }: DeliveryQuery,
): Promise<Page<DeliveryRecord>> {
  const pageOf = (size: number, after: string | undefined) =>
    store.list(tenant, deliveryType, {
      indices: [deliveryIndex(webhookId, status)],
      order: 'newest',
      limit: size,
      ...range,
      ...(after === undefined ? {} : { afterId: after }),
    });
  if (eventType === undefined) return pageOf(limit, afterId);
  const items: DeliveryRecord[] = [];
  let after = afterId;
  for (let portions = 0; portions < portionsMax; portions += 1) {
    const page = await pageOf(portion, after);
    for (const [index, delivery] of page.items.entries()) {
      if (!matchesType(eventType, delivery.eventType)) continue;
      items.push(delivery);
      if (items.length < limit) continue;
      const hasMore = page.hasMore || index + 1 < page.items.length;
      return { items, balances: new Map(), hasMore, nextId: hasMore ? delivery.id : undefined };
    }
    if (!page.hasMore) return { items, balances: new Map(), hasMore: false, nextId: undefined };
    after = page.nextId;
  }
  return { items, balances: new Map(), hasMore: true, nextId: after };
}
