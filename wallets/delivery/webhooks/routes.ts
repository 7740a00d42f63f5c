/** /v1/webhooks: endpoints and the events that each gets. Their deliveries: ../deliveries/routes.ts. */
import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, Nullable, OneOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { seesWholeTenant } from '../../../gateway/api/visibility.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { create, remove, update } from '../../store/changes.ts';
import { type Change, type NewEvent, shownRecord } from '../../store/contract.ts';
import { checkWebhook } from './checks.ts';
import { findWebhook } from './find.ts';
import {
  shelfId,
  shelfType,
  type WebhookRecord,
  type WebhookShelf,
  webhookStatuses,
  webhooksMax,
  webhookType,
} from './record.ts';
import { newSecret, rotated, type SecretDeps } from './secrets.ts';
import { storedUrl, urlOf } from './urls.ts';
import {
  Description,
  EventList,
  emptyQueue,
  liveView,
  NewWebhook,
  type QueueDepth,
  UrlText,
  Webhook,
  webhookView,
} from './view.ts';

export interface WebhookDeps extends SecretDeps {
  readonly seal: SecretDeps['seal'] & { open(sealed: string, about: string): string };
  readonly environment: ClusterEnvironment;
  /** What the workers know; ../deliveries/webhook-service.ts fits. */
  readonly webhookService: { depthOf(tenant: string, webhookId: string): Promise<QueueDepth> };
}

const tag = 'Webhooks';
const params = Closed({ id: PathId('webhook id') });

export function webhookRoutes(deps: WebhookDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/webhooks',
      operationId: 'createWebhook',
      clientName: 'webhooks.create',
      example: { url: 'https://example.com/hooks', events: ['transaction_intent.*', 'wallet.*'] },
      tag,
      summary: 'Register a webhook',
      description: `The answer holds the secret, which is never shown again. At most ${webhooksMax} a tenant.`,
      scope: 'webhooks:write',
      body: Closed({ url: UrlText, events: EventList, description: Type.Optional(Description) }),
      responses: { 201: { description: 'The webhook, with its secret', schema: NewWebhook } },
      errors: [409],
      controlled: async () => undefined,
      handle: (context, { body }) => registerWebhook(context, body, deps),
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks',
      operationId: 'listWebhooks',
      clientName: 'webhooks.list',
      tag,
      summary: 'List webhooks, newest first',
      description: 'A token that is limited to provider connections sees none: they belong to no connection.',
      scope: 'webhooks:read',
      query: Closed(pageQuery),
      responses: { 200: { description: 'A page of webhooks', schema: ListOf('webhooks', Webhook) } },
      handle: async (context, { query }) => {
        const { tenant, store, principal, nowMs } = context;
        const request = readPage(context, 'webhooks', query);
        // They belong to no connection.
        const indices = seesWholeTenant(principal) ? ['webhooks'] : ['webhooks:none'];
        const page = await store.list(tenant, webhookType, { indices, order: 'newest', ...request.query });
        const depths = await Promise.all(page.items.map(({ id }) => deps.webhookService.depthOf(tenant, id)));
        const depthOf = new Map(page.items.map(({ id }, index) => [id, depths[index]!]));
        const view = (record: WebhookRecord) =>
          liveView(opened(deps, tenant, record), depthOf.get(record.id) ?? emptyQueue, nowMs);
        return { status: 200, body: listBody('webhooks', page, view, request) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks/:id',
      operationId: 'getWebhook',
      clientName: 'webhooks.get',
      tag,
      summary: 'Read a webhook',
      scope: 'webhooks:read',
      params,
      responses: { 200: { description: 'The webhook', schema: Webhook } },
      errors: [404],
      handle: async (context, { params: { id } }) => {
        const record = await findWebhook(context, id);
        return { status: 200, body: await shown(context, record, deps) };
      },
    }),
    route({
      method: 'PATCH',
      path: '/v1/webhooks/:id',
      operationId: 'updateWebhook',
      clientName: 'webhooks.update',
      example: { events: ['*'], description: 'everything' },
      tag,
      summary: 'Change a webhook',
      description:
        'Setting the status of a suspended or disabled webhook to `enabled` resumes it. It continues where it ' +
        'stopped: it also gets the missed events that the event log still has.',
      scope: 'webhooks:write',
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
      controlled: async (context, { params: { id } }) => webhookView(await findWebhook(context, id)),
      states: Object.fromEntries(webhookStatuses.map((status) => [status, [status, 'enabled', 'disabled']])),
      handle: async (context, { params: { id }, body }) => {
        const patch = checkWebhook(body, deps.environment);
        const before = await findWebhook(context, id);
        return changed(context, before, patch, deps);
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/:id/rotate-secret',
      operationId: 'rotateWebhookSecret',
      clientName: 'webhooks.rotateSecret',
      example: { revoke_previous: false },
      tag,
      summary: 'Make a new secret',
      description:
        'The answer holds the new secret, which is never shown again. For 24 hours deliveries are also signed with the ' +
        'previous one, unless `revoke_previous` is true.',
      scope: 'webhooks:write',
      params,
      body: Closed({
        revoke_previous: Type.Optional(
          Type.Boolean({ description: 'revokes the previous secrets at once; false by default' }),
        ),
      }),
      bodyOptional: true,
      responses: { 200: { description: 'The webhook, with its new secret', schema: NewWebhook } },
      errors: [404, 409],
      handle: async (context, { params: { id }, body }) => {
        const before = await findWebhook(context, id);
        const { plain, sealed } = newSecret(context.tenant, id, deps);
        const after = nextVersion(context, before, {
          secrets: rotated(before.secrets, sealed, context.nowMs, body.revoke_previous !== true),
        });
        const change = { puts: [update(webhookType, before, after)], events: [eventAbout(context, 'updated', after)] };
        return { status: 200, body: { ...(await shown(context, after, deps)), secret: plain }, change };
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/webhooks/:id',
      operationId: 'deleteWebhook',
      clientName: 'webhooks.delete',
      tag,
      summary: 'Remove a webhook',
      scope: 'webhooks:write',
      params,
      responses: { 204: { description: 'It is gone' } },
      errors: [404, 409],
      controlled: async (context, { params: { id } }) => webhookView(await findWebhook(context, id)),
      handle: (context, { params: { id } }) => removeWebhook(context, id),
    }),
  ];
}

interface Registration {
  readonly url: string;
  readonly events: string[];
  readonly description?: string;
}

export async function registerWebhook(
  context: RequestContext,
  asked: Registration,
  deps: WebhookDeps,
): Promise<Answer> {
  const body = checkWebhook(asked, deps.environment);
  const shelf = await readShelf(context);
  const { webhookIds = [] } = shelf ?? {};
  if (webhookIds.length >= webhooksMax) {
    throw new ServiceError('conflict', `a tenant has at most ${webhooksMax} webhooks: remove one first`, {
      details: [{ field: '', issue: 'too_many_webhooks' }],
    });
  }
  const id = context.newId('whk');
  const { plain: secret, sealed } = newSecret(context.tenant, id, deps);
  const record: WebhookRecord = {
    id,
    version: 1,
    ...storedUrl(deps, context.tenant, id, body.url),
    events: body.events,
    description: body.description ?? null,
    status: 'enabled',
    secrets: [sealed],
    createdAtMs: context.nowMs,
    updatedAtMs: context.nowMs,
  };
  const shelved =
    shelf === undefined
      ? create(shelfType, { id: shelfId, version: 1, webhookIds: [id] })
      : shelve(shelf, (ids) => [...ids, id]);
  return {
    status: 201,
    body: { ...liveView({ ...record, url: body.url }, emptyQueue, context.nowMs), secret },
    change: { puts: [create(webhookType, record), shelved], events: [eventAbout(context, 'created', record)] },
  };
}

export async function removeWebhook(context: RequestContext, id: string): Promise<Answer> {
  const before = await findWebhook(context, id);
  const shelf = await readShelf(context);
  const change: Change = {
    removals: [remove(webhookType, before)],
    puts: shelf === undefined ? [] : [shelve(shelf, (ids) => ids.filter((other) => other !== id))],
    events: [eventAbout(context, 'deleted', before)],
  };
  return { status: 204, change };
}

type Patch = { readonly [K in 'url' | 'events' | 'description' | 'status']?: WebhookRecord[K] };

/** An update without a difference is no change and makes no event. */
async function changed(
  context: RequestContext,
  before: WebhookRecord,
  patch: Patch,
  deps: WebhookDeps,
): Promise<Answer> {
  const stands = opened(deps, context.tenant, before);
  const names = Object.keys(patch) as (keyof Patch)[];
  if (names.every((name) => JSON.stringify(stands[name]) === JSON.stringify(patch[name]))) {
    return { status: 200, body: await shown(context, before, deps) };
  }
  const { sealedUrl: _, ...rest } = nextVersion(context, before, patch);
  const after = { ...rest, ...storedUrl(deps, context.tenant, before.id, patch.url ?? stands.url) };
  const change: Change = {
    puts: [update(webhookType, before, after)],
    events: [eventAbout(context, 'updated', after)],
  };
  return { status: 200, body: await shown(context, after, deps), change };
}

function nextVersion({ nowMs }: RequestContext, before: WebhookRecord, patch: Partial<WebhookRecord>): WebhookRecord {
  const updatedAtMs = Math.max(nowMs, before.updatedAtMs);
  return { ...before, ...patch, version: before.version + 1, updatedAtMs };
}

async function shown({ tenant, nowMs }: RequestContext, record: WebhookRecord, deps: WebhookDeps) {
  const { webhookService } = deps;
  return liveView(opened(deps, tenant, record), await webhookService.depthOf(tenant, record.id), nowMs);
}

/** With its whole URL, for the caller; events show the stored one. Throws StoreTampered. */
function opened(deps: WebhookDeps, tenant: string, record: WebhookRecord): WebhookRecord {
  return { ...record, url: shownRecord(record.id, () => urlOf(deps, tenant, record)) };
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
