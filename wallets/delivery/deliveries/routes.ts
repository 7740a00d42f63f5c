/**
 * /v1/webhooks/:id/deliveries: lists deliveries, sends a test delivery, and redelivers. A redelivered event has the same body
 * and the same `webhook-id`, so that its receiver can detect it.
 */

import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { createdQuery, listBody, readCreated, readPage } from '../../../gateway/api/pages.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, Nullable, OneOf, PathId, pageQuery, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import type { AnswerSeal } from '../../store/secrets/answer-seal.ts';
import { isEventFilter } from '../events/public.ts';
import { EventList, findWebhook, type WebhookRecord, webhookSending } from '../webhooks/public.ts';
import { openAnswer } from './last-answer.ts';
import { listDeliveries } from './listing.ts';
import { type DeliveryRecord, deliveryIdOf, deliveryStatuses, deliveryType } from './record.ts';
import { Delivery, DeliveryWithAnswer, deliveryView } from './view.ts';
import { pingEvent, type WebhookService } from './webhook-service.ts';

export interface DeliveryDeps {
  readonly webhookService: Pick<WebhookService, 'redeliver' | 'redeliverRange'>;
  /** Opens what receivers answered. */
  readonly seal: Pick<AnswerSeal, 'open'>;
}

const tag = 'Webhooks';
const hookParams = Closed({ id: PathId('webhook id') });
const params = Closed({ id: PathId('webhook id'), deliveryId: PathId('delivery id') });

const Ping = Closed(
  {
    event_id: Type.String(),
    event_type: Type.String({ examples: ['webhook.ping'] }),
    delivery_id: Type.String({ description: 'where to read the result, a moment later' }),
  },
  { title: 'Ping' },
);

const sequence = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

const Range = Closed({
  status: Type.Optional(OneOf(['failed', 'delivered'], { description: '`failed` by default' })),
  types: Type.Optional(EventList),
  after_sequence: Type.Optional(sequence('events with a higher sequence')),
  before_sequence: Type.Optional(sequence('events with a lower sequence')),
  created_after: Type.Optional(Timestamp),
  created_before: Type.Optional(Timestamp),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'next_cursor of the previous answer, same filters' }),
  ),
});
type RangeBody = Type.Static<typeof Range>;

const RangeAnswer = Closed(
  {
    queued: Type.Integer({ minimum: 0, description: 'deliveries in flight' }),
    not_kept: Type.Integer({ minimum: 0, description: 'deliveries whose events are no longer retained' }),
    queue_full: Type.Boolean({
      description: 'true: it stopped early because too many deliveries wait; continue later',
    }),
    has_more: Type.Boolean(),
    next_cursor: Nullable(Type.String({ description: 'opaque; null at the end of the range' })),
  },
  { title: 'Redelivery' },
);

export function deliveryRoutes(deps: DeliveryDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/webhooks/:id/ping',
      operationId: 'pingWebhook',
      clientName: 'webhooks.ping',
      tag,
      summary: 'Send a test event',
      description: 'Creates a `webhook.ping` event for this webhook only, even if it has not subscribed to it.',
      scope: 'webhooks:write',
      params: hookParams,
      responses: { 202: { description: 'It is on its way', schema: Ping } },
      errors: [404, 409],
      states: webhookSending,
      handle: async (context, { params: { id } }) => {
        const webhook = await findWebhook(context, id);
        needEnabled(webhook);
        const event = pingEvent(context, webhook);
        return {
          status: 202,
          body: { event_id: event.id, event_type: event.type, delivery_id: deliveryIdOf(event.id, id) },
          change: { guards: [{ kind: 'status', id, status: 'enabled' }], events: [event] },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks/:id/deliveries',
      operationId: 'listDeliveries',
      clientName: 'webhooks.deliveries',
      tag,
      summary: 'List deliveries with every try, newest event first',
      description:
        'Kept for 30 days, and 100,000 of a webhook. `created_after` is inclusive, `created_before` is not; both mean ' +
        'the time of the event.',
      scope: 'webhooks:read',
      params: hookParams,
      query: Closed({
        status: Type.Optional(OneOf(deliveryStatuses)),
        event_type: Type.Optional(
          Type.String({ minLength: 1, maxLength: 100, description: 'a type, or a prefix such as "wallet.*"' }),
        ),
        ...createdQuery,
        ...pageQuery,
      }),
      responses: { 200: { description: 'A page of deliveries', schema: ListOf('deliveries', Delivery) } },
      errors: [404],
      handle: async (context, { params: { id }, query }) => {
        const webhook = await findWebhook(context, id);
        const { status, event_type: eventType } = query;
        if (eventType !== undefined && !isEventFilter(eventType)) throw notAType('event_type');
        const request = readPage(context, `webhooks/${webhook.id}/deliveries`, query);
        const page = await listDeliveries(context.store, context.tenant, {
          webhookId: webhook.id,
          ...(status === undefined ? {} : { status }),
          ...(eventType === undefined ? {} : { eventType }),
          ...readCreated(query),
          ...request.query,
        });
        return { status: 200, body: listBody('deliveries', page, deliveryView, request) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks/:id/deliveries/:deliveryId',
      operationId: 'getDelivery',
      clientName: 'webhooks.delivery',
      tag,
      summary: 'Read a delivery with its tries and the latest answer',
      scope: 'webhooks:read',
      params,
      responses: { 200: { description: 'The delivery', schema: DeliveryWithAnswer } },
      errors: [404],
      handle: async (context, { params: { id, deliveryId } }) => {
        await findWebhook(context, id);
        const delivery = await findDelivery(context, id, deliveryId);
        return {
          status: 200,
          body: { ...deliveryView(delivery), last_answer: openAnswer(deps.seal, context.tenant, delivery) },
        };
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/:id/deliveries/:deliveryId/redeliver',
      operationId: 'redeliver',
      clientName: 'webhooks.redeliver',
      tag,
      summary: 'Deliver an event again',
      description: 'A delivery that waits for its next try is retried at once.',
      scope: 'webhooks:write',
      params,
      responses: { 202: { description: 'It is on its way', schema: Delivery } },
      errors: [404, 409],
      states: Object.fromEntries(deliveryStatuses.map((status) => [status, deliveryStatuses])),
      handle: async (context, { params: { id, deliveryId } }) => {
        needEnabled(await findWebhook(context, id));
        await findDelivery(context, id, deliveryId);
        return redelivered(await deps.webhookService.redeliver(context.tenant, deliveryId));
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/:id/redeliver',
      operationId: 'redeliverRange',
      clientName: 'webhooks.redeliverRange',
      example: { status: 'failed', types: ['transaction_intent.*'] },
      tag,
      summary: 'Deliver a range of events again',
      description:
        'Oldest event first, a bounded number with each call: while `has_more` is true, call again with `cursor`. What ' +
        'has not been sent yet will be sent in any case.',
      scope: 'webhooks:write',
      params: hookParams,
      body: Range,
      bodyOptional: true,
      responses: { 202: { description: 'What is on its way now', schema: RangeAnswer } },
      errors: [404, 409],
      states: webhookSending,
      handle: async (context, { params: { id }, body }) => {
        needEnabled(await findWebhook(context, id));
        return redeliverRange(context, id, body, deps.webhookService);
      },
    }),
  ];
}

async function redeliverRange(
  context: RequestContext,
  id: string,
  body: RangeBody,
  webhookService: DeliveryDeps['webhookService'],
): Promise<Answer> {
  const { status = 'failed', types = [], after_sequence: after, before_sequence: before } = body;
  const isAll = types.length === 1 && types[0] === '*';
  const stranger = isAll ? -1 : types.findIndex((type) => !isEventFilter(type));
  if (stranger >= 0) throw notAType(`types[${stranger}]`);
  const request = readPage(context, `webhooks/${id}/redeliver`, body);
  const outcome = await webhookService.redeliverRange(context.tenant, id, {
    statuses: [status],
    types: isAll ? [] : types,
    ...(after === undefined ? {} : { fromSequence: after + 1 }),
    ...(before === undefined ? {} : { toSequence: before - 1 }),
    ...readCreated(body),
    ...(request.query.afterId === undefined ? {} : { afterId: request.query.afterId }),
  });
  const { redelivered: queued, notRetained, nextId, full } = outcome;
  return {
    status: 202,
    body: {
      queued,
      not_kept: notRetained,
      queue_full: full,
      has_more: nextId !== undefined,
      next_cursor: nextId === undefined ? null : request.cursorOf(nextId),
    },
  };
}

/** A delivery of another webhook does not exist here. */
async function findDelivery({ tenant, store }: RequestContext, webhookId: string, id: string): Promise<DeliveryRecord> {
  const found = id.startsWith('dlv_') ? await store.read(tenant, deliveryType, id) : undefined;
  if (found === undefined || found.webhookId !== webhookId) throw noSuch('delivery');
  return found;
}

function redelivered(outcome: Awaited<ReturnType<WebhookService['redeliver']>>): Answer {
  switch (outcome.kind) {
    case 'onItsWay':
      return { status: 202, body: deliveryView(outcome.delivery) };
    case 'noSuchDelivery':
      throw noSuch('delivery');
    case 'notEnabled':
      throw notEnabled();
    case 'eventNotKept':
      throw new ServiceError('conflict', 'the event is no longer retained', {
        details: [{ field: 'deliveryId', issue: 'event_not_kept' }],
      });
    case 'tooManyWaiting':
      throw new ServiceError(
        'overloaded',
        'too many deliveries of this webhook are waiting: repeat the request later',
        {
          retryAfterS: 60,
        },
      );
  }
}

function needEnabled({ status }: WebhookRecord): void {
  if (!isAllowedIn(webhookSending, status)) throw notEnabled();
}

function notEnabled(): ServiceError {
  return new ServiceError('conflict', 'the webhook is not enabled', {
    details: [{ field: 'status', issue: 'state_conflict', message: 'enable the webhook first' }],
  });
}

function notAType(field: string): ServiceError {
  const message = 'takes an event type, or a prefix such as "wallet.*"';
  return new ServiceError('invalidRequest', 'that is no event type', {
    details: [{ field, issue: 'not_allowed_value', message }],
  });
}
