/** The walkers walk over the toolkit's own routes, and find defects that are planted. */
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { type Route, route } from '../../../gateway/api/route.ts';
import { Closed, PathId } from '../../../gateway/api/schema-kit.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import { openapiDocument } from '../../../gateway/openapi/document.ts';
import { eventRoutes } from '../../../wallets/delivery/events/routes.ts';
import { webhookRoutes } from '../../../wallets/delivery/webhooks/routes.ts';
import { create } from '../../../wallets/store/changes.ts';
import { type RestApp, restApp, testSeal, tokenOf } from '../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../support/store.ts';
import { watchStore } from '../../support/store-calls.ts';
import { notes, noteType } from './support/notes.ts';
import { idleWebhookService } from './support/webhook-service.ts';
import { type Document, fuzzOperation, operationsOf, walkTenants } from './walkers.ts';

let redis: StoreUnderTest;
let rest: RestApp;
let document: Document;
const headers = tokenOf('owner');
const webhooks = webhookRoutes({
  environment: 'sandbox',
  seal: testSeal,
  random: systemRandom,
  webhookService: idleWebhookService,
});
const routes: readonly Route[] = [...notes().routes, ...eventRoutes(), ...webhooks];

async function appOf(some: readonly Route[]): Promise<RestApp> {
  return restApp({ routes: some, store: await redis.open() });
}

beforeAll(async () => {
  redis = await startStore();
  rest = await appOf(routes);
  document = (await rest.app.inject({ url: '/v1/openapi.json' })).json();
});
afterAll(async () => {
  await rest.app.close();
  await redis.stop();
});

async function made(url: string, payload: object, owner = headers): Promise<string> {
  const answer = await rest.app.inject({ method: 'POST', url, headers: owner, payload });
  return (answer.json() as { id: string }).id;
}

async function eventOf(resourceId: string, owner = headers): Promise<string> {
  const answer = await rest.app.inject({ url: `/v1/events?resource_id=${resourceId}`, headers: owner });
  return (answer.json() as { events: { id: string }[] }).events[0]!.id;
}

const webhook = { url: 'https://example.com/hook', events: ['*'] };

describe('fuzzing', () => {
  const whole = openapiDocument(routes, '1') as Document & { components: { schemas: Record<string, unknown> } };
  // The notes' events are about notes, which no event of the product is.
  const { Event: _, ...schemas } = whole.components.schemas;
  const components = { ...whole.components, schemas: { ...schemas, Event: { type: 'object' } } };
  const ours = operationsOf({ ...whole, components }).filter(({ operationId }) =>
    routes.some((own) => own.operationId === operationId),
  );

  it.each(ours.map((operation) => [operation.operationId, operation] as const))(
    'finds nothing wrong with %s',
    async (_name, operation) => {
      const note = await made('/v1/notes', { text: 'x' });
      const event = await eventOf(note);
      const idsOf = () => [operation.path.startsWith('/v1/events/') ? event : note];
      const statuses = await fuzzOperation(operation, { app: rest.app, headers, runs: 300, idsOf });
      expect(statuses.get(operation.path.includes('webhooks/') ? 404 : 400)).toBeGreaterThan(0);
      expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]);
      // Good requests are made too.
      if (!operation.path.includes('webhooks')) {
        const good = [...statuses].filter(([status]) => status < 300).reduce((sum, [, count]) => sum + count, 0);
        expect(good).toBeGreaterThan(5);
      }
    },
  );

  const planted = (handle: Route['handle']): Route =>
    route({
      method: 'POST',
      path: '/v1/planted',
      operationId: 'planted',
      tag: 'Planted',
      summary: 'A defect',
      scope: 'wallets:write',
      idempotent: false,
      body: Closed({ amount: Type.String({ maxLength: 60 }) }),
      responses: { 200: { description: 'ok', schema: Closed({ units: Type.Integer() }) } },
      handle,
    });

  it.each([
    [
      'a parser that throws on an odd amount',
      planted(async (_context, { body }) => ({
        status: 200,
        body: { units: Number(BigInt((body as { amount: string }).amount) % 7n) },
      })),
      /500: a fault of ours/,
    ],
    ['an answer that is not as declared', planted(async () => ({ status: 200, body: { units: 'x' } })), /500|body/],
    ['a status that is not declared', planted(async () => ({ status: 202, body: {} })), /500|not in the document/],
  ])('finds %s', async (_name, defect, fault) => {
    const broken = await appOf([defect]);
    const [operation] = operationsOf(openapiDocument([defect], '1') as Document);
    await expect(fuzzOperation(operation!, { app: broken.app, headers, runs: 300, seed: 1 })).rejects.toThrow(fault);
    await broken.app.close();
  });
});

describe('walking with a second tenant', () => {
  const leaky = route({
    method: 'GET',
    path: '/v1/leaky/:id',
    operationId: 'leaky',
    tag: 'Planted',
    summary: 'Shows any caller anything',
    scope: 'wallets:read',
    params: Closed({ id: PathId('any id') }),
    responses: { 200: { description: 'ok', schema: Closed({}) } },
    handle: async () => ({ status: 200, body: {} }),
  });

  it('finds every resource hidden', async () => {
    const owner = tokenOf('walked');
    const note = await made('/v1/notes', { text: 'x' }, owner);
    const ids = { note, event: await eventOf(note, owner), hook: await made('/v1/webhooks', webhook, owner) };
    const walked = await walkTenants(document, {
      app: rest.app,
      owner,
      stranger: tokenOf('stranger'),
      idsOf: ({ path }) => ({
        id: path.startsWith('/v1/webhooks') ? ids.hook : path.startsWith('/v1/events') ? ids.event : ids.note,
      }),
    });
    expect([...walked].sort()).toEqual([
      'DELETE /v1/webhooks/{id}',
      'GET /v1/events/{id}',
      'GET /v1/notes/{id}',
      'GET /v1/webhooks/{id}',
      'PATCH /v1/webhooks/{id}',
      'POST /v1/notes/{id}/bump',
      'POST /v1/webhooks/{id}/rotate-secret',
    ]);
  });

  it('hides what belongs to no connection from a token that is limited to connections', async () => {
    const token = 'svc_sk_test_limitedtoone0000';
    const tenant = 'tn_limited';
    rest.tokens.put('svc_sk_test_wholetenant0000', { tenant });
    rest.tokens.put(token, { tenant, providerConnectionIds: ['pcn_1'] });
    const owner = { authorization: 'Bearer svc_sk_test_wholetenant0000' };
    const own = await made('/v1/webhooks', webhook, owner);
    const only = { ...document, paths: { '/v1/webhooks/{id}': (document.paths as Document)['/v1/webhooks/{id}'] } };
    await walkTenants(only, {
      app: rest.app,
      owner,
      stranger: { authorization: `Bearer ${token}` },
      strangerLacksScopes: true,
      idsOf: () => ({ id: own }),
    });
  });

  it('finds a path that tells what exists', async () => {
    const token = 'svc_sk_test_telling00000000';
    const owner = 'tn_telling';
    const telling = route({
      method: 'GET',
      path: '/v1/telling/:id',
      operationId: 'telling',
      tag: 'Planted',
      summary: 'Looks again at what is another tenant’s',
      scope: 'wallets:read',
      params: Closed({ id: PathId('any id') }),
      responses: { 200: { description: 'ok', schema: Closed({}) } },
      errors: [404],
      handle: async ({ store, tenant }, { params }) => {
        const found = await store.read(owner, noteType, params.id);
        if (found !== undefined && tenant === owner) return { status: 200, body: {} };
        if (found !== undefined) await store.read(tenant, noteType, params.id);
        throw noSuch('note');
      },
    });
    const store = await redis.open();
    const id = 'wal_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e';
    await store.commit(owner, { puts: [create(noteType, { id, version: 1, text: 'x', bumps: 0 })] });
    const broken = await restApp({ routes: [telling], store });
    broken.tokens.put(token, { tenant: owner });
    const found = walkTenants(openapiDocument([telling], '1') as Document, {
      ...{ app: broken.app, owner: { authorization: `Bearer ${token}` } },
      ...{ stranger: tokenOf('stranger'), idsOf: () => ({ id }) },
      watched: watchStore(store),
    });
    await expect(found).rejects.toThrow('GET /v1/telling/{id}: another path than for what never was');
    await broken.app.close();
  });

  it('finds a leak, and an operation without ids', async () => {
    const broken = await appOf([leaky]);
    const walk = { app: broken.app, owner: headers, stranger: tokenOf('stranger') };
    const leakyDocument = openapiDocument([leaky], '1') as Document;
    const found = walkTenants(leakyDocument, { ...walk, idsOf: () => ({ id: 'abcd' }) });
    await expect(found).rejects.toThrow('GET /v1/leaky/{id}: 200 for a stranger');
    await expect(walkTenants(leakyDocument, { ...walk, idsOf: () => undefined })).rejects.toThrow('no ids are given');
    await broken.app.close();
  });
});
