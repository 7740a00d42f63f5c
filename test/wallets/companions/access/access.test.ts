/** Access to modules that are PLANNED: by request in a sandbox, by scope in production. */
import type { Redis } from 'ioredis';
import Type from 'typebox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { plannedModules } from '../../../../gateway/api/modules.ts';
import { type Route, route } from '../../../../gateway/api/route.ts';
import type { Scope } from '../../../../gateway/api/scopes.ts';
import { newToken } from '../../../../gateway/auth/token-format.ts';
import type { ClusterEnvironment } from '../../../../proto/roster.ts';
import { accessRoutes } from '../../../../wallets/companions/access/routes.ts';
import { RedisTenantStore } from '../../../../wallets/store/redis-tenant-store.ts';
import { callJson } from '../../../support/gateway.ts';
import { openConnection } from '../../../support/redis-connection.ts';
import { openDatabase, type RedisDatabase } from '../../../support/redis-database.ts';
import { type RestApp, restApp } from '../../../support/rest-app.ts';
import { storePorts } from '../../../support/store-ports.ts';

let database: RedisDatabase;
let redis: Redis;
let store: RedisTenantStore;
let rest: RestApp;

beforeAll(async () => {
  database = await openDatabase();
  redis = await openConnection(database.url);
  store = new RedisTenantStore(redis, storePorts);
});
afterEach(async () => {
  await rest.stop();
  await redis.flushdb();
});
afterAll(async () => {
  redis.disconnect();
  await database.stop();
});

/** A module of each kind, of which nothing reads the body. */
const things: readonly Route[] = (
  [
    ['Key management', 'vaults'],
    ['Risk', 'risk'],
  ] as const
).map(([tag, module]) =>
  route({
    tag,
    method: 'POST',
    path: `/v1/${module}/things`,
    operationId: module,
    summary: 'A thing',
    scope: `${module}:write`,
    body: Type.Object({}),
    responses: { 201: { description: 'made', schema: Type.Object({}) } },
    handle: async () => ({ status: 201, body: {} }),
  }),
);

async function open(isAutomatic = true, environment: ClusterEnvironment = 'sandbox'): Promise<void> {
  const access = { isAutomatic, openTenant: 'tn_banner' };
  const servedTags = () => new Set([...things.map(({ tag }) => tag), 'Modules']);
  const routes = [...things, ...accessRoutes({ ...access, servedTags })];
  rest = await restApp({ routes, store, access, environment });
}

/** The calls of one tenant. */
function tenant(name: string, scopes?: readonly Scope[], environment: ClusterEnvironment = 'sandbox') {
  const token = newToken(environment, systemRandom);
  rest.tokens.put(token, { tenant: name, environment, ...(scopes && { scopes }) });
  const call = (method: string, url: string, body?: unknown, headers = {}) =>
    callJson(rest.app, { method, url, token, body, headers });
  return {
    use: (module = 'vaults', body: unknown = {}) => call('POST', `/v1/${module}/things`, body),
    ask: (module = 'vaults', body: object = {}, headers = {}) =>
      call('POST', `/v1/modules/${module}/access-requests`, body, headers),
    module: async (name = 'vaults') => {
      const { body } = await call('GET', '/v1/modules');
      return body.modules.find(({ module }: { module: string }) => module === name);
    },
  };
}

const eventsOf = async (name: string) =>
  (await store.events(name, { afterSequence: 0, limit: 100, types: [] })).events.map(({ type, object }) => [
    type,
    (object as { status: string }).status,
  ]);

describe('in a sandbox', () => {
  it('a module that is PLANNED is refused with the request to make, before its body is read', async () => {
    await open();
    const { use, module } = tenant('tn_a');
    for (const body of [{}, 'no JSON']) {
      const { status, body: answer } = await use('vaults', body);
      expect([status, answer.error.code]).toEqual([403, 'insufficient_scope']);
      expect(answer.error.message).toContain('POST /v1/modules/vaults/access-requests');
      expect(answer.error.details[0].issue).toBe('module_access_needed');
    }
    expect(await module()).toMatchObject({ maturity: 'PLANNED', access: 'by_request', access_request: null });
  });

  it('a request is granted at once, for this tenant and this module alone', async () => {
    await open();
    const one = tenant('tn_a');
    const { status, body } = await one.ask('vaults', { reason: 'keys' });
    expect([status, body]).toMatchObject([201, { module: 'vaults', status: 'granted', reason: 'keys' }]);
    expect((await one.use()).status).toBe(201);
    expect(await one.module()).toMatchObject({ access: 'open', access_request: { id: body.id } });
    expect(await one.module('tokens')).toMatchObject({ access: 'by_request', served: false });
    expect((await tenant('tn_b').use()).status).toBe(403);
    expect(await eventsOf('tn_a')).toEqual([
      ['module_access.requested', 'pending'],
      ['module_access.granted', 'granted'],
    ]);
  });

  it('a request under an idempotency key has one effect', async () => {
    await open();
    const { ask } = tenant('tn_a');
    const answers = await Promise.all([1, 2, 3].map(() => ask('vaults', {}, { 'idempotency-key': 'k' })));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await eventsOf('tn_a')).toHaveLength(2);
  });

  it('requests of several modules at the same time are all recorded', async () => {
    await open();
    const { ask, module } = tenant('tn_a');
    await Promise.all(plannedModules.map((name) => ask(name)));
    for (const name of plannedModules) expect(await module(name)).toMatchObject({ access: 'open' });
  });

  it('waits for the operator where access is by hand, and says so', async () => {
    await open(false);
    const { ask, use, module } = tenant('tn_a');
    const first = await ask();
    expect([first.status, first.body]).toMatchObject([201, { status: 'pending', decided_at: null }]);
    const again = await ask();
    expect([again.status, again.body.id]).toEqual([200, first.body.id]);
    expect((await use()).body.error.message).toContain(`${first.body.id} waits for the operator`);
    expect(await module()).toMatchObject({ access: 'by_request', access_request: { status: 'pending' } });
  });

  it('the banner’s tenant has every module without asking', async () => {
    await open(false);
    const { ask, use, module } = tenant('tn_banner');
    expect((await use()).status).toBe(201);
    expect(await module('treasury')).toMatchObject({ access: 'open', access_request: null });
    expect((await ask()).body.status).toBe('granted');
  });

  it('a module that is PREVIEW needs no request, and takes none', async () => {
    await open();
    const { ask, use, module } = tenant('tn_a');
    expect((await use('risk')).status).toBe(201);
    expect(await module('risk')).toMatchObject({ maturity: 'PREVIEW', access: 'open', preview_scope: 'preview:risk' });
    const refused = await ask('risk');
    expect([refused.status, refused.body.error.details[0].issue]).toEqual([409, 'not_by_request']);
    expect((await ask('nonsense')).status).toBe(404);
  });

  it('asking needs its scope, which a provider-scoped token never has', async () => {
    await open();
    expect((await tenant('tn_a', ['vaults:write', 'modules:read']).ask()).status).toBe(403);
    const token = newToken('sandbox', systemRandom);
    rest.tokens.put(token, { tenant: 'tn_a', providerConnectionIds: ['pcn_1'] });
    const url = '/v1/modules/vaults/access-requests';
    expect((await callJson(rest.app, { method: 'POST', url, token, body: {} })).status).toBe(403);
  });
});

describe('in production', () => {
  it('the scope of the token decides, and a request is refused', async () => {
    await open(true, 'production');
    const without = tenant('tn_a', ['vaults:write', 'modules:read', 'modules:write'], 'production');
    const refused = await without.use();
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      'the access token lacks the scope preview:vaults',
    ]);
    expect(await without.module()).toMatchObject({ access: 'scope_needed', preview_scope: 'preview:vaults' });
    const asked = await without.ask();
    expect([asked.status, asked.body.error.message]).toEqual([409, expect.stringContaining('preview:vaults')]);
    const withIt = tenant('tn_a', ['vaults:write', 'preview:vaults', 'modules:read'], 'production');
    expect((await withIt.use()).status).toBe(201);
    expect(await withIt.module()).toMatchObject({ access: 'open' });
  });
});
