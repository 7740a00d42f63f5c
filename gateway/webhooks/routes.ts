/** /v1/webhooks: who wants to be told of which events. Deliveries are another room's work. */
import Type from 'typebox';
import type { RandomBytes } from '../../actors/contract.ts';
import type { Principal } from '../auth/principal.ts';
import type { TokenEnvironment } from '../auth/token-format.ts';
import { ServiceError } from '../errors/service-error.ts';
import { eventOf } from '../events/event.ts';
import { listBody, readPage } from '../rest/pages.ts';
import { type Answer, type RequestContext, type Route, route } from '../rest/route.ts';
import { Closed, ListOf, Nullable, OneOf, PathId, pageQuery } from '../rest/schema-kit.ts';
import { noSuch, seesWholeTenant } from '../rest/visibility.ts';
import { create, remove, update } from '../store/changes.ts';
import type { Change, NewEvent } from '../store/contract.ts';
import { checkWebhook } from './checks.ts';
import {
  aboutSecret,
  shelfId,
  shelfType,
  type WebhookRecord,
  type WebhookShelf,
  webhooksMax,
  webhookType,
} from './record.ts';
import { Description, EventList, NewWebhook, UrlText, Webhook, webhookView } from './view.ts';

export interface WebhookDeps {
  readonly environment: TokenEnvironment;
  /** Seals secrets; the port of rest/answers.ts. */
  readonly seal: { seal(plain: string, about: string): string };
  readonly random: RandomBytes;
  /** Before a webhook is committed: from then on workers look after the tenant. */
  readonly announce?: (tenant: string) => Promise<void>;
}

const tag = 'Webhooks';
const params = Closed({ id: PathId('webhook id') });

export function webhookRoutes(deps: WebhookDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/webhooks',
      operationId: 'createWebhook',
      tag,
      summary: 'Register a webhook',
      description: `The answer holds the secret, which is never shown again. At most ${webhooksMax} a tenant.`,
      scope: 'webhooks:write',
      limitClass: 'writes',
      body: Closed({ url: UrlText, events: EventList, description: Type.Optional(Description) }),
      responses: { 201: { description: 'The webhook, with its secret', schema: NewWebhook } },
      errors: [409],
      handle: (context, { body }) => register(context, body, deps),
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks',
      operationId: 'listWebhooks',
      tag,
      summary: 'List webhooks, newest first',
      description: 'A token that is limited to provider connections sees none: they belong to no connection.',
      scope: 'webhooks:read',
      limitClass: 'reads',
      query: Closed(pageQuery),
      responses: { 200: { description: 'A page of webhooks', schema: ListOf('webhooks', Webhook) } },
      handle: async ({ tenant, store, principal }, { query }) => {
        const request = readPage('webhooks', query);
        // They belong to no connection.
        const indices = seesWholeTenant(principal) ? ['webhooks'] : ['webhooks:none'];
        const page = await store.list(tenant, webhookType, { indices, order: 'newest', ...request.query });
        return { status: 200, body: listBody('webhooks', page, webhookView, request) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks/:id',
      operationId: 'getWebhook',
      tag,
      summary: 'Read a webhook',
      scope: 'webhooks:read',
      limitClass: 'reads',
      params,
      responses: { 200: { description: 'The webhook', schema: Webhook } },
      errors: [404],
      handle: async (context, { params: { id } }) => {
        return { status: 200, body: webhookView(await find(context, context.principal, id)) };
      },
    }),
    route({
      method: 'PATCH',
      path: '/v1/webhooks/:id',
      operationId: 'updateWebhook',
      tag,
      summary: 'Change a webhook',
      description: 'A suspended webhook is called again once its status is set to `enabled`.',
      scope: 'webhooks:write',
      limitClass: 'writes',
      params,
      body: Closed(
        {
          url: Type.Optional(UrlText),
          events: Type.Optional(EventList),
          description: Type.Optional(Nullable(Description)),
          status: Type.Optional(OneOf(['enabled', 'disabled'])),
        },
        { minProperties: 1 },
      ),
      responses: { 200: { description: 'The webhook', schema: Webhook } },
      errors: [404, 409],
      handle: async (context, { params: { id }, body }) => {
        checkWebhook(body, deps.environment);
        const before = await find(context, context.principal, id);
        return changed(context, before, body);
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/webhooks/:id',
      operationId: 'deleteWebhook',
      tag,
      summary: 'Remove a webhook',
      scope: 'webhooks:write',
      limitClass: 'writes',
      params,
      responses: { 204: { description: 'It is gone' } },
      errors: [404],
      handle: async (context, { params: { id } }) => {
        const before = await find(context, context.principal, id);
        const shelf = await readShelf(context);
        const change: Change = {
          removals: [remove(webhookType, before)],
          puts: shelf === undefined ? [] : [shelve(shelf, (ids) => ids.filter((other) => other !== id))],
          events: [eventAbout(context, 'deleted', before)],
        };
        return { status: 204, change };
      },
    }),
  ];
}

async function find({ tenant, store }: RequestContext, principal: Principal, id: string): Promise<WebhookRecord> {
  // The store finds a record by its id alone: an id of another kind names no webhook.
  const isVisible = id.startsWith('whk_') && seesWholeTenant(principal);
  const found = isVisible ? await store.read(tenant, webhookType, id) : undefined;
  if (found === undefined) throw noSuch('webhook');
  return found;
}

interface Registration {
  readonly url: string;
  readonly events: string[];
  readonly description?: string;
}

async function register(context: RequestContext, body: Registration, deps: WebhookDeps): Promise<Answer> {
  checkWebhook(body, deps.environment);
  const shelf = await readShelf(context);
  const { webhookIds = [] } = shelf ?? {};
  if (webhookIds.length >= webhooksMax) {
    throw new ServiceError('conflict', `a tenant has at most ${webhooksMax} webhooks: remove one first`, {
      details: [{ field: '', issue: 'too_many_webhooks' }],
    });
  }
  await deps.announce?.(context.tenant);
  const id = context.newId('whk');
  const secret = `whsec_${Buffer.from(deps.random(32)).toString('base64')}`;
  const record: WebhookRecord = {
    id,
    version: 1,
    url: body.url,
    events: body.events,
    description: body.description ?? null,
    status: 'enabled',
    secrets: [{ sealed: deps.seal.seal(secret, aboutSecret(context.tenant, id)), endsAtMs: null }],
    createdAtMs: context.nowMs,
    updatedAtMs: context.nowMs,
  };
  const shelved =
    shelf === undefined
      ? create(shelfType, { id: shelfId, version: 1, webhookIds: [id] })
      : shelve(shelf, (ids) => [...ids, id]);
  return {
    status: 201,
    body: { ...webhookView(record), secret },
    change: { puts: [create(webhookType, record), shelved], events: [eventAbout(context, 'created', record)] },
  };
}

type Patch = { readonly [K in 'url' | 'events' | 'description' | 'status']?: WebhookRecord[K] };

/** What is as it was is no change and makes no event. */
function changed(context: RequestContext, before: WebhookRecord, patch: Patch): Answer {
  const after: WebhookRecord = {
    ...before,
    ...patch,
    version: before.version + 1,
    updatedAtMs: Math.max(context.nowMs, before.updatedAtMs),
  };
  const names = Object.keys(patch) as (keyof Patch)[];
  if (names.every((name) => JSON.stringify(before[name]) === JSON.stringify(after[name]))) {
    return { status: 200, body: webhookView(before) };
  }
  const change: Change = {
    puts: [update(webhookType, before, after)],
    events: [eventAbout(context, 'updated', after)],
  };
  return { status: 200, body: webhookView(after), change };
}

function readShelf({ tenant, store }: RequestContext): Promise<WebhookShelf | undefined> {
  return store.read(tenant, shelfType, shelfId);
}

function shelve(shelf: WebhookShelf, next: (ids: readonly string[]) => readonly string[]) {
  return update(shelfType, shelf, { ...shelf, version: shelf.version + 1, webhookIds: next(shelf.webhookIds) });
}

function eventAbout(context: RequestContext, happening: string, record: WebhookRecord): NewEvent {
  return eventOf(context, {
    type: `webhook.${happening}`,
    resource: webhookType.name,
    record,
    object: webhookView(record),
  });
}
