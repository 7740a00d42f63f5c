/** /v1/sandbox/inboxes: a receiver of webhooks at this gateway, with its webhook, in one step. */
import Type from 'typebox';
import { timestamp } from '../../proto/timestamps.ts';
import { EventList } from '../../wallets/delivery/webhooks/public.ts';
import type { Route } from '../api/route.ts';
import { route } from '../api/route.ts';
import { Closed, ListOf, Nullable, OneOf, PathId, secret, Timestamp } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import { notSupported, whoDid } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { deliveriesKept, type Inbox, type InboxDelivery, inboxBodyBytes } from './inboxes.ts';
import { common, wholeList } from './shared.ts';

const Check = OneOf(['valid', 'invalid', 'missing']);

const DeliveryView = Closed(
  {
    received_at: Timestamp,
    headers: Type.Record(Type.String(), Type.String(), { description: 'by their names in lower case' }),
    body: Type.String({ description: `up to ${inboxBodyBytes / 1_024} KB of it` }),
    bytes: Type.Integer({ minimum: 0, description: 'of the whole body' }),
    checks: Closed(
      { x_svc_signature: Check, webhook_timestamp: Check, webhook_signature: Check },
      { description: 'what a receiver checks, under the first secret of the webhook: docs/webhooks.md' },
    ),
    answered: Nullable(Type.Integer({ description: 'the status; null: its connection was cut' })),
  },
  { title: 'SandboxInboxDelivery' },
);

const inboxFields = {
  id: Type.String({ description: 'of its webhook' }),
  url: Type.String({ description: 'of its webhook, with 128 random bits' }),
  created_at: Timestamp,
  received: Type.Integer({ minimum: 0, description: 'deliveries so far' }),
} as const;

const InboxSummary = Closed(inboxFields, { title: 'SandboxInboxSummary' });
const NewInbox = Closed(
  { ...inboxFields, secret: Type.String({ ...secret, description: 'of its webhook; shown once' }) },
  { title: 'NewSandboxInbox' },
);
const InboxView = Closed(
  { ...inboxFields, deliveries: Type.Array(DeliveryView, { description: `the last ${deliveriesKept}, newest first` }) },
  { title: 'SandboxInbox' },
);

const params = Closed({ id: PathId('id of the inbox, which is that of its webhook') });

export function inboxRoutes({ inboxes, webhooks }: SandboxDeps): readonly Route[] {
  const find = (tenant: string, id: string): Inbox => {
    const inbox = inboxes?.find(tenant, id);
    if (inbox === undefined) throw noSuch('inbox');
    return inbox;
  };
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/inboxes',
      operationId: 'createSandboxInbox',
      clientName: 'sandbox.createInbox',
      example: { events: ['transaction_intent.*', 'wallet.*'] },
      summary: 'Make a receiver of webhooks at this gateway, and its webhook',
      description:
        `It keeps the last ${deliveriesKept} deliveries in memory, checks their signatures, and answers 200, or as the armed faults of ` +
        'receivers say. It ends with the gateway, and with a reset. 422 `not_supported`: the workers do not reach this gateway.',
      body: Closed({ events: Type.Optional(EventList) }),
      bodyOptional: true,
      errors: [409, 422],
      responses: { 201: { description: 'The inbox', schema: NewInbox } },
      handle: async (context, { body: { events = ['*'] } }) => {
        const place = inboxes?.newPlace();
        if (inboxes === undefined || place === undefined) {
          throw notSupported(
            'no worker of this sandbox reaches this gateway: register a webhook with a URL of your own',
          );
        }
        const made = await webhooks.register(context, {
          url: place.url,
          events,
          description: 'an inbox of the sandbox',
        });
        const { id, secret: plain } = made.body as { readonly id: string; readonly secret: string };
        context.log.info(whoDid(context, 'inboxes.create', { id }), 'an inbox was made');
        // Before its first delivery, which may come with the commit.
        const inbox = inboxes.open(id, context.tenant, place, plain);
        return { ...made, body: { ...summaryOf(inbox), secret: plain } };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/inboxes',
      operationId: 'listSandboxInboxes',
      clientName: 'sandbox.inboxes',
      summary: 'List the inboxes of the caller’s tenant, newest first',
      responses: { 200: { description: 'Inboxes', schema: ListOf('inboxes', InboxSummary) } },
      handle: async ({ tenant }) => ({
        status: 200,
        body: wholeList('inboxes', (inboxes?.of(tenant) ?? []).map(summaryOf)),
      }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/inboxes/:id',
      operationId: 'getSandboxInbox',
      clientName: 'sandbox.inbox',
      summary: 'Read an inbox and its deliveries',
      params,
      responses: { 200: { description: 'The inbox', schema: InboxView } },
      handle: async ({ tenant }, { params: { id } }) => {
        const inbox = find(tenant, id);
        const deliveries = inbox.deliveries.map(deliveryView).reverse();
        return { status: 200, body: { ...summaryOf(inbox), deliveries } };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/sandbox/inboxes/:id',
      operationId: 'deleteSandboxInbox',
      clientName: 'sandbox.deleteInbox',
      summary: 'Remove an inbox and its webhook',
      params,
      responses: { 204: { description: 'It is gone' } },
      handle: async (context, { params: { id } }) => {
        find(context.tenant, id);
        const removed = await webhooks.remove(context, id);
        return { ...removed, afterCommit: () => inboxes?.close(id) };
      },
    }),
  ];
}

function summaryOf({ id, url, createdMs, received }: Inbox) {
  return { id, url, created_at: timestamp(createdMs), received };
}

function deliveryView({ receivedMs, headers, body, bytes, checks, answered }: InboxDelivery) {
  return {
    received_at: timestamp(receivedMs),
    headers,
    body: Buffer.from(body).toString('utf8'),
    bytes,
    checks: { x_svc_signature: checks.body, webhook_timestamp: checks.timestamp, webhook_signature: checks.standard },
    answered,
  };
}
