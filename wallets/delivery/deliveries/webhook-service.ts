/**
 * The service of deliveries for the API's routes: notifies workers, reports the backlog of a webhook, and redelivers. A ping is
 * an ordinary event; the relay delivers it only to the pinged webhook.
 */
import type { Clock } from '../../../core/actors/contract.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { NewEvent, TenantStore } from '../../store/contract.ts';
import { type WebhookRecord, webhookType, webhookView } from '../webhooks/public.ts';
import { requeued } from './attempt.ts';
import { relayDefaults } from './outbox-relay.ts';
import type { OutboxDepth, OutboxStore } from './outbox-store.ts';
import { type DeliveryRecord, type DeliveryStatus, deliveryIndex, deliveryType } from './record.ts';

export type Redelivery =
  /** It is on its way, or was already. The record as it is now. */
  | { readonly kind: 'onItsWay'; readonly delivery: DeliveryRecord }
  | { readonly kind: 'noSuchDelivery' }
  /** Its webhook is disabled or suspended: enable it first. */
  | { readonly kind: 'notEnabled' }
  /** What was to be sent is no longer in the event log. */
  | { readonly kind: 'eventNotKept' }
  /** With so many waiting deliveries of a webhook, a redelivery is refused. */
  | { readonly kind: 'tooManyWaiting' };

export interface RangeQuery {
  /** At least one of `delivered`, `failed`; the others are on their way anyhow. */
  readonly statuses: readonly DeliveryStatus[];
  /** Exact, or beginnings that end in ".*". Empty: all. */
  readonly types: readonly string[];
  /** Sequences of events, both included. */
  readonly fromSequence?: number;
  readonly toSequence?: number;
  /** Times of events: the first millisecond, and the first one behind the range. */
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
  /** Where an earlier call ended. */
  readonly afterId?: string;
}

export interface RangeOutcome {
  /** Deliveries that are on their way now. */
  readonly redelivered: number;
  /** Deliveries in the range whose events are no longer kept. */
  readonly notRetained: number;
  /** Call again with it; undefined: the range is done. */
  readonly nextId: string | undefined;
  /** True: so many wait that the call ended early. */
  readonly full: boolean;
}

/** Deliveries that one call reads, at most. */
const rangeScannedMax = 1_000;
const pageSize = 100;
const conflictRetriesMax = 10;

export class WebhookService {
  readonly #store: TenantStore;
  readonly #hooks: OutboxStore;
  readonly #clock: Clock;

  /** Every method throws StoreUnavailable. */
  constructor(hooks: OutboxStore, store: TenantStore, clock: Clock) {
    this.#store = store;
    this.#hooks = hooks;
    this.#clock = clock;
  }

  async depthOf(tenant: string, webhookId: string): Promise<OutboxDepth> {
    return this.#hooks.depth(tenant, webhookId);
  }

  /** A new try at once, with the same body. */
  async redeliver(tenant: string, deliveryId: string): Promise<Redelivery> {
    const delivery = await this.#store.read(tenant, deliveryType, deliveryId);
    if (delivery === undefined) return { kind: 'noSuchDelivery' };
    const webhook = await this.#store.read(tenant, webhookType, delivery.webhookId);
    if (webhook === undefined) return { kind: 'noSuchDelivery' };
    if (webhook.status !== 'enabled') return { kind: 'notEnabled' };
    const { retrying } = await this.#hooks.depth(tenant, webhook.id);
    if (retrying >= relayDefaults.retryingMax) return { kind: 'tooManyWaiting' };
    if (delivery.sequence < (await this.#floor(tenant))) return { kind: 'eventNotKept' };
    const onItsWay = await this.#putOnItsWay(tenant, delivery);
    if (onItsWay === undefined) return { kind: 'noSuchDelivery' };
    await this.#hooks.wake(tenant);
    return { kind: 'onItsWay', delivery: onItsWay };
  }

  /** A bounded part of a range, oldest event first. The webhook must be enabled: its caller has read it. */
  async redeliverRange(tenant: string, webhookId: string, query: RangeQuery): Promise<RangeOutcome> {
    const { retrying } = await this.#hooks.depth(tenant, webhookId);
    const floor = await this.#floor(tenant);
    let room = relayDefaults.retryingMax - retrying;
    let [redelivered, notRetained, scanned] = [0, 0, 0];
    let afterId = query.afterId;
    for (let more = true; more; ) {
      if (room < pageSize) return { redelivered, notRetained, nextId: afterId ?? '', full: true };
      if (scanned >= rangeScannedMax) return { redelivered, notRetained, nextId: afterId, full: false };
      const page = await this.#page(tenant, webhookId, query, afterId);
      const meant = page.items.filter((delivery) => isMeant(delivery, query));
      const kept = meant.filter(({ sequence }) => sequence >= floor);
      await Promise.all(kept.map((delivery) => this.#putOnItsWay(tenant, delivery)));
      redelivered += kept.length;
      notRetained += meant.length - kept.length;
      room -= kept.length;
      scanned += pageSize;
      if (kept.length > 0) await this.#hooks.wake(tenant);
      more = page.hasMore;
      afterId = page.nextId ?? afterId;
    }
    return { redelivered, notRetained, nextId: undefined, full: false };
  }

  #page(tenant: string, webhookId: string, query: RangeQuery, afterId: string | undefined) {
    const { statuses, createdAfterMs, createdBeforeMs } = query;
    return this.#store.list(tenant, deliveryType, {
      indices: [deliveryIndex(webhookId)],
      anyOf: statuses.map((status) => deliveryIndex(webhookId, status)),
      order: 'oldest',
      limit: pageSize,
      ...(afterId !== undefined && afterId !== '' && { afterId }),
      ...(createdAfterMs !== undefined && { createdAfterMs }),
      ...(createdBeforeMs !== undefined && { createdBeforeMs }),
    });
  }

  /** Its record afterwards; undefined: it is gone. What is on its way already is made at once if it waits for later. */
  async #putOnItsWay(tenant: string, read: DeliveryRecord): Promise<DeliveryRecord | undefined> {
    let before: DeliveryRecord | undefined = read;
    for (let attempt = 0; before !== undefined && attempt < conflictRetriesMax; attempt += 1) {
      const nowMs = this.#clock.nowMs();
      const waits = before.status === 'retrying' && (before.nextAttemptAtMs ?? 0) > nowMs;
      if (before.status === 'queued' || (before.status === 'retrying' && !waits)) return before;
      const after = requeued(before, nowMs);
      const place = { kind: 'retry', atMs: nowMs } as const;
      const moved = await this.#hooks.move(tenant, { before, after, place, endpoint: undefined }, nowMs);
      if (moved !== undefined) return after;
      before = await this.#store.read(tenant, deliveryType, read.id);
    }
    return before;
  }

  async #floor(tenant: string): Promise<number> {
    return (await this.#store.events(tenant, { afterSequence: 0, limit: 1, types: [] })).floorSequence;
  }
}

/** The event of a ping. Only the pinged webhook gets it, also if it has not subscribed to it. Its delivery: `deliveryIdOf`. */
export function pingEvent(
  context: Pick<RequestContext, 'newId' | 'nowMs' | 'requestId'>,
  webhook: WebhookRecord,
): NewEvent {
  return eventOf(context, {
    type: 'webhook.ping',
    resource: webhookType.name,
    record: webhook,
    object: webhookView(webhook),
  });
}

function isMeant({ sequence, eventType }: DeliveryRecord, query: RangeQuery): boolean {
  const { fromSequence = 0, toSequence = Number.MAX_SAFE_INTEGER, types } = query;
  if (sequence < fromSequence || sequence > toSequence) return false;
  return types.length === 0 || types.some((filter) => matchesType(filter, eventType));
}

/** `filter`: exact, or a beginning that ends in ".*". */
export function matchesType(filter: string, type: string): boolean {
  return filter === type || (filter.endsWith('.*') && type.startsWith(filter.slice(0, -1)));
}
