/** Validation of a route's requests: bodies, queries, ids, preview modules, and answers held against their schemas. */
import { type AddressInfo, connect } from 'node:net';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import Type from 'typebox';
import { afterEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { type Route, route } from '../../../gateway/api/route.ts';
import { assertRoutes } from '../../../gateway/api/route-table.ts';
import { Closed, PathId } from '../../../gateway/api/schema-kit.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { type RestApp, type RestAppOptions, restApp, tokenOf } from '../../support/rest-app.ts';

/** Nothing here touches the store. */
const noStore = {} as TenantStore;
const seen: unknown[] = [];
const base = { tag: 'Things', summary: 'A thing', scope: 'policies:write', limitClass: 'writes' } as const;
const echo = { description: 'What came', schema: Type.Object({}) };

const things: readonly Route[] = [
  route({
    ...base,
    method: 'POST',
    path: '/v1/things',
    operationId: 'createThing',
    tag: 'Policy',
    query: Closed({ dry: Type.Optional(Type.String()) }),
    body: Closed({ name: Type.String(), n: Type.Optional(Type.Integer()) }),
    responses: { 201: echo },
    handle: async (context, input) => {
      seen.push(input);
      return { status: 201, body: { ...input, trace: context.traceparent } };
    },
  }),
  route({
    ...base,
    method: 'POST',
    path: '/v1/things/:id/poke',
    operationId: 'pokeThing',
    params: Closed({ id: PathId('thing id') }),
    body: Closed({ hard: Type.Optional(Type.Boolean()) }),
    bodyOptional: true,
    responses: { 200: echo },
    handle: async (_context, { params, body }) => ({ status: 200, body: { params, body } }),
  }),
  route({
    ...base,
    method: 'GET',
    path: '/v1/things/:id',
    operationId: 'getThing',
    params: Closed({ id: PathId('thing id') }),
    responses: { 200: echo },
    handle: async (_context, { params }) => ({ status: 200, body: { params } }),
  }),
  route({
    ...base,
    method: 'DELETE',
    path: '/v1/things/:id',
    operationId: 'deleteThing',
    params: Closed({ id: PathId('thing id') }),
    responses: { 204: { description: 'gone' } },
    handle: async () => ({ status: 204 }),
  }),
  route({
    ...base,
    scope: undefined,
    method: 'GET',
    path: '/v1/public',
    operationId: 'getPublic',
    responses: { 200: echo },
    handle: async ({ principal }) => ({ status: 200, body: { scopes: principal.scopes.size } }),
  }),
];

const apps: RestApp[] = [];
afterEach(async () => {
  seen.length = 0;
  for (const { app } of apps.splice(0)) await app.close();
});

async function appOf(routes: readonly Route[], options: Partial<RestAppOptions> = {}): Promise<RestApp> {
  const made = await restApp({ routes, store: noStore, ...options });
  apps.push(made);
  return made;
}

async function ask(options: InjectOptions): Promise<LightMyRequestResponse> {
  const { app } = await appOf(things);
  return app.inject({ ...options, headers: { ...tokenOf('a'), ...options.headers } });
}

const json = { 'content-type': 'application/json' };

describe('a body', () => {
  it.each([
    ['that is empty', '', json, 400, ['name missing_required']],
    ['that is null', 'null', json, 400, undefined],
    ['that is a list', '[]', json, 400, undefined],
    ['that is a text', '"x"', json, 400, undefined],
    ['that is cut off', '{"name":', json, 400, undefined],
    ['with a prototype', '{"name":"x","__proto__":{"n":1}}', json, 400, ['__proto__ unknown_field']],
    ['with an escaped prototype', '{"name":"x","\\u005f_proto__":{}}', json, 400, ['__proto__ unknown_field']],
    ['with half a character', '{"name":"\\ud800"}', json, 400, ['name invalid_utf8']],
    ['that is not UTF-8', Buffer.from('{"name":"\xff"}', 'latin1'), json, 400, undefined],
    ['with a number too large for a double', '{"name":"x","n":9007199254740993}', json, 400, ['n too_large']],
    ['with a number instead of a text', '{"name":5}', json, 400, ['name wrong_type']],
    ['with a text instead of a number', '{"name":"x","n":"5"}', json, 400, ['n wrong_type']],
    ['that nests deep', `{"name":${'['.repeat(100_000)}`, json, 400, undefined],
    ['in UTF-16 by its type', '{"name":"x"}', { 'content-type': 'application/json; charset=utf-16' }, 415, undefined],
    ['in Latin 1', '{"name":"x"}', { 'content-type': 'application/json;charset="ISO-8859-1"' }, 415, undefined],
    ['that is a form', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415, undefined],
    ['without a type', Buffer.from('{"name":"x"}'), {}, 415, undefined],
    ['that is packed', '{"name":"x"}', { ...json, 'content-encoding': 'gzip' }, 415, undefined],
    ['that is too large', `{"name":"${'x'.repeat(262_144)}"}`, json, 413, undefined],
  ])('%s is refused', async (_name, payload, headers, status, expected) => {
    const answer = await ask({ method: 'POST', url: '/v1/things', payload, headers });
    const { error } = answer.json();
    expect([answer.statusCode, error.code]).toEqual([status, 'invalid_request']);
    expect(error.details?.map((one: { field: string; issue: string }) => `${one.field} ${one.issue}`)).toEqual(
      expected,
    );
    expect(error.request_id).toBe(answer.headers['x-request-id']);
    expect(seen).toEqual([]);
  });

  it('that is as declared reaches the handler as it is', async () => {
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const answer = await ask({ method: 'POST', url: '/v1/things?dry=true', payload: { name: 'x', n: 3 }, headers });
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({
      params: {},
      query: { dry: 'true' },
      headers: {},
      body: { name: 'x', n: 3 },
      trace: headers.traceparent,
    });
  });

  it('may be absent where it is optional', async () => {
    for (const options of [{}, { headers: json }, { payload: {} }]) {
      const answer = await ask({ method: 'POST', url: '/v1/things/t1/poke', ...options });
      expect([answer.statusCode, answer.json().body]).toEqual([200, {}]);
    }
    expect((await ask({ method: 'POST', url: '/v1/things/t1/poke', payload: { hard: 1 } })).statusCode).toBe(400);
  });

  it('is refused where none is taken', async () => {
    expect((await ask({ method: 'GET', url: '/v1/things/t1', payload: {} })).statusCode).toBe(400);
    expect((await ask({ method: 'DELETE', url: '/v1/things/t1', payload: { a: 1 } })).statusCode).toBe(400);
    expect((await ask({ method: 'DELETE', url: '/v1/things/t1', headers: json })).statusCode).toBe(204);
  });
});

describe('a query', () => {
  it('with strange, repeated and wrong fields is refused with all of them', async () => {
    const answer = await ask({ method: 'POST', url: '/v1/things?dry=1&dry=2&x=1&__proto__=2', payload: { n: 'x' } });
    expect(answer.json().error.details).toEqual([
      { field: 'dry', issue: 'duplicate_field', message: 'is given once' },
      { field: 'x', issue: 'unknown_field', message: 'the fields here are dry' },
      { field: '__proto__', issue: 'unknown_field', message: 'the fields here are dry' },
      { field: 'name', issue: 'missing_required', message: 'takes a string' },
      { field: 'n', issue: 'wrong_type', message: 'takes a whole number' },
    ]);
  });

  it('is read literally: plus signs, brackets and escapes', async () => {
    const answer = await ask({ method: 'POST', url: '/v1/things?dry=%E2%82%AC+a', payload: { name: 'x' } });
    expect(answer.json().query).toEqual({ dry: '€ a' });
    const odd = await ask({ method: 'POST', url: '/v1/things?dry[a]=1', payload: { name: 'x' } });
    expect(odd.json().error.details).toMatchObject([{ field: 'dry[a]', issue: 'unknown_field' }]);
  });
});

describe('an id in the path', () => {
  it.each(['', 'x'.repeat(129), 'x'.repeat(5_000)])('of a form that no id has is not found (%#)', async (id) => {
    expect((await ask({ method: 'GET', url: `/v1/things/${id}` })).statusCode).toBe(404);
  });

  it('that cannot be decoded is a bad request', async () => {
    expect((await ask({ method: 'GET', url: '/v1/things/%zz' })).statusCode).toBe(400);
  });
});

describe('admission', () => {
  it('comes before the body: without a token nothing else is said', async () => {
    const answer = await ask({
      method: 'POST',
      url: '/v1/things',
      payload: 'nonsense',
      headers: { authorization: 'Bearer x', 'content-type': 'text/plain' },
    });
    expect(answer.statusCode).toBe(401);
  });

  it('needs no token for a public route, which sees a caller without scopes', async () => {
    const { app } = await appOf(things);
    expect((await app.inject({ url: '/v1/public' })).json()).toEqual({ scopes: 0 });
  });

  it('asks for the preview scope in production alone, before the allowance is touched', async () => {
    const live = newToken('production', systemRandom);
    let counted = 0;
    const limits = {
      consume: async () => {
        counted += 1;
        return { allowed: true, policy: 'p', state: 's', resetS: 1 };
      },
    };
    const { app, tokens } = await appOf(things, { environment: 'production', limits });
    const post = () =>
      app.inject({
        method: 'POST',
        url: '/v1/things',
        headers: { authorization: `Bearer ${live}` },
        payload: { name: 'x' },
      });
    tokens.put(live, { environment: 'production', scopes: ['policies:write'] });
    const refused = await post();
    expect([refused.statusCode, refused.json().error.code, counted]).toEqual([403, 'insufficient_scope', 0]);
    expect(refused.headers['www-authenticate']).toContain('scope="preview:policies"');
    const { app: second, tokens: others } = await appOf(things, { environment: 'production', limits });
    others.put(live, { environment: 'production', scopes: ['policies:write', 'preview:policies'] });
    const headers = { authorization: `Bearer ${live}` };
    const taken = await second.inject({ method: 'POST', url: '/v1/things', headers, payload: { name: 'x' } });
    expect([taken.statusCode, taken.headers.ratelimit, counted]).toEqual([201, 's', 1]);
  });
});

describe('other methods', () => {
  it('are 405, and say what there is', async () => {
    const answer = await ask({ method: 'PUT', url: '/v1/things/t1', payload: 'x' });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD, DELETE']);
    const head = await ask({ method: 'HEAD', url: '/v1/things/t1' });
    expect([head.statusCode, head.body]).toEqual([200, '']);
  });
});

describe('an answer', () => {
  it('that is not as declared is a fault of ours, where tests ask for it', async () => {
    const wrong = (over: object): Route => ({ ...things[2]!, ...over });
    const cases = [
      wrong({ handle: async () => ({ status: 200, body: [] }) }),
      wrong({ handle: async () => ({ status: 202, body: {} }) }),
      wrong({ responses: { 204: { description: '' } }, handle: async () => ({ status: 204, body: {} }) }),
    ];
    for (const broken of cases) {
      const { app, lines } = await appOf([broken]);
      const answer = await app.inject({ url: '/v1/things/t1', headers: tokenOf('a') });
      expect(answer.statusCode).toBe(500);
      expect(String(lines[0]?.fields.reason)).toContain('getThing');
    }
  });
});

describe('the check of routes', () => {
  it.each<[string, Partial<Route>]>([
    ['the operationId is taken', { path: '/v1/other', params: Closed({}) }],
    ['params must be those of the path', { operationId: 'b', path: '/v1/things/:other' }],
    ['a public route only reads', { operationId: 'b', method: 'DELETE', scope: undefined as never }],
    ['a GET has neither a body nor a key', { operationId: 'b', body: Closed({}) }],
    ['idempotencyField is no field', { operationId: 'b', method: 'POST', idempotencyField: 'key' }],
    ['a response is needed', { operationId: 'b', responses: {} }],
  ])('refuses a route: %s', (fault, over) => {
    const good = things[2]!;
    expect(() => assertRoutes([good, { ...good, ...over }])).toThrow(fault);
  });
});

describe('a body that comes too slowly', () => {
  it('ends at the documented time, and not at twice that', async () => {
    const { app } = await appOf(things, { requestTimeoutMs: 500 });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    const { authorization } = tokenOf('slow');
    socket.write(
      `POST /v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    );
    const startedMs = performance.now();
    const drip = setInterval(() => socket.write(' '), 100);
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes;
      });
      socket.on('close', () => resolve(text));
      // The drip may meet a connection that its server has just closed.
      socket.on('error', () => undefined);
    });
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(400);
  });
});
