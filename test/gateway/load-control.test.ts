/** What a gateway does with more calls than it can finish in time, through HTTP and gRPC. */
import type { AddressInfo } from 'node:net';
import { status } from '@grpc/grpc-js';
import Type from 'typebox';
import { afterEach, expect, it } from 'vitest';
import { systemTimers } from '../../core/actors/live/ports.ts';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import { type Route, route } from '../../gateway/api/route.ts';
import { Closed } from '../../gateway/api/schema-kit.ts';
import { LoadControl } from '../../gateway/limits/load-control.ts';
import type { RateLimits } from '../../gateway/limits/rate-limits.ts';
import { type IdempotencyStart, StoreUnavailable, type TenantStore } from '../../wallets/store/contract.ts';
import {
  auth,
  callJson,
  errorDetails,
  grpcCall,
  openGateway,
  type TestGateway,
  testToken,
} from '../support/gateway.ts';
import { restApp, tokenOf } from '../support/rest-app.ts';
import { until } from '../support/until.ts';
import { VirtualTimers } from '../support/virtual-timers.ts';
import { lineOf } from './access-log/support.ts';

let gateway: TestGateway | undefined;
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});

/** One call at a time, and none may wait for longer than it takes to notice. */
const oneAtATime = { inHandMax: 1, waitMs: 200 };

const initiate = (app: TestGateway) =>
  app.http.inject({ method: 'POST', url: '/v1/signing/initiate', headers: auth, payload: {} });

it('refuses calls that would wait too long with 429 and Retry-After, sends nothing on, and answers health meanwhile', async () => {
  const app = await openGateway({ load: oneAtATime });
  gateway = app;
  app.coordinator.answer = () => 'silence';
  const held = initiate(app);
  await until(() => app.coordinator.sent.length === 1, 'the first call is sent');
  const waited = await initiate(app);
  expect(waited.statusCode).toBe(429);
  expect(waited.headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
  expect(waited.json().error).toMatchObject({
    code: 'rate_limited',
    message: expect.stringContaining('nothing was started'),
  });
  expect((await app.http.inject('/v1/health')).statusCode).toBe(200);
  const client = await app.grpcClient();
  const { error } = await grpcCall(client, '/svc.mesh.v1.MpcWalletService/InitiateSigning', new Uint8Array());
  expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(errorDetails(error)).toMatchObject({ reason: 'OVERLOADED', retryS: expect.any(Number) });
  expect(app.coordinator.sent).toHaveLength(1);
  const [first] = app.coordinator.sent;
  app.coordinator.answer = () => ({ response: {} });
  app.coordinator.reply(first!, { response: {} });
  expect((await held).statusCode).toBe(200);
  // Each call has left its place with its answer.
  for (let round = 0; round < 2; round += 1) {
    expect((await initiate(app)).statusCode).toBe(200);
    const call = await grpcCall(client, '/svc.mesh.v1.MpcWalletService/InitiateSigning', new Uint8Array());
    expect(call.error).toBeUndefined();
  }
});

it('a call that is refused for load takes nothing from the allowance of its tenant', async () => {
  let consumed = 0;
  const limits: RateLimits = {
    consume: async () => {
      consumed += 1;
      return { allowed: true, policy: '"signing";q=9;w=1', state: undefined, resetS: 0 };
    },
  };
  const timers = new VirtualTimers();
  const app = await openGateway({ load: { inHandMax: 1, waitMs: 2_000 }, limits, timers });
  gateway = app;
  app.coordinator.answer = () => 'silence';
  void initiate(app);
  await until(() => app.coordinator.sent.length === 1, 'the first call is sent');
  // The first to wait shows how long that takes; while another waits, calls are refused before they are counted.
  const first = initiate(app);
  await until(() => consumed === 2 && app.load!.mayRefuse, 'a call waits');
  await timers.advance(10_000);
  expect((await first).statusCode).toBe(429);
  const waiting = initiate(app);
  await until(() => consumed === 3 && app.load!.mayRefuse, 'another call waits');
  expect((await initiate(app)).statusCode).toBe(429);
  expect(consumed).toBe(3);
  await timers.advance(10_000);
  expect((await waiting).statusCode).toBe(429);
});

it('at an overload an answer at once is the one of `serve`, and other faults of a request keep their answers', async () => {
  const app = await openGateway({ load: {}, corsOrigins: ['https://page.example'] });
  gateway = app;
  app.tokens.put(testToken);
  await app.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.http.server.address() as AddressInfo;
  app.load!.heed('signing', () => 'much waits');
  expect(app.load!.mayRefuse).toBe(false);
  expect((await initiate(app)).statusCode).toBe(429);
  expect(app.load!.mayRefuse).toBe(true);
  const post = (headers: Record<string, string>, path = '/v1/signing/initiate') =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: 'x'.repeat(100_000) });
  const asked = { ...auth, origin: 'https://page.example', 'x-request-id': 'the-refused-one' };
  const atOnce = await post(asked);
  const later = await app.serve({
    method: 'POST',
    target: '/v1/signing/initiate',
    httpVersion: '1.1',
    headers: asked,
    rawHeaders: ['Host', 'a', ...Object.entries(asked).flat()],
    body: () => Promise.reject(new Error('a body was read')),
    onGone: () => () => undefined,
  });
  expect([atOnce.status, later.status]).toEqual([429, 429]);
  expect(await atOnce.text()).toBe(later.body);
  expect(Object.fromEntries(atOnce.headers)).toMatchObject(later.headers);
  const line = await lineOf(app.requests, 'the-refused-one');
  expect(line).toMatchObject({
    status: 429,
    route: '/v1/signing/initiate',
    error_code: 'rate_limited',
    token_id: 'tok_1',
  });
  expect((await post({ authorization: 'Bearer svc_sk_live_none' })).status).toBe(401);
  app.tokens.putScoped('svc_sk_test_withoutTheScope', []);
  expect((await post({ authorization: 'Bearer svc_sk_test_withoutTheScope' })).status).toBe(403);
  expect((await post(auth, '/v1/nowhere')).status).toBe(404);
  expect((await post({ ...auth, 'content-type': 'application/json' }, '/v1/signing/share')).status).toBe(400);
});

it('at an overload a gRPC call is refused at once as it is later, with the retry delay; others keep their answers', async () => {
  const app = await openGateway({ load: {} });
  gateway = app;
  app.tokens.put(testToken);
  app.tokens.putScoped('svc_sk_test_withoutTheScope', []);
  const client = await app.grpcClient();
  const service = '/svc.mesh.v1.MpcWalletService';
  const begin = (metadata: Record<string, string> = auth, bytes = new Uint8Array(100_000)) =>
    grpcCall(client, `${service}/InitiateSigning`, bytes, metadata);
  app.load!.heed('signing', () => 'much waits');
  const later = await begin({ ...auth, 'x-request-id': 'refused-later' });
  expect(app.load!.mayRefuse).toBe(true);
  const atOnce = await begin({ ...auth, 'x-request-id': 'refused-at-once' });
  for (const { error } of [later, atOnce]) {
    expect(error).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining('much waits') });
    expect(errorDetails(error)).toMatchObject({ reason: 'OVERLOADED', retryS: 1 });
  }
  const [one, other] = await Promise.all(['refused-later', 'refused-at-once'].map((id) => lineOf(app.requests, id)));
  const own = { request_id: '', duration_ms: 0, correlation_id: '' };
  expect({ ...other, ...own }).toEqual({ ...one, ...own });
  expect(other).toMatchObject({ grpc_status: 'RESOURCE_EXHAUSTED', token_id: 'tok_1', error_code: 'rate_limited' });
  expect((await begin({ authorization: 'Bearer svc_sk_live_none' })).error?.code).toBe(status.UNAUTHENTICATED);
  const unscoped = await begin({ authorization: 'Bearer svc_sk_test_withoutTheScope' });
  expect(unscoped.error?.code).toBe(status.PERMISSION_DENIED);
  const continuing = await grpcCall(client, `${service}/SubmitSignatureShare`, Uint8Array.of(0xff));
  expect(continuing.error?.code).toBe(status.INVALID_ARGUMENT);
  expect((await grpcCall(client, `${service}/None`, new Uint8Array())).error?.code).toBe(status.UNIMPLEMENTED);
});

it('a client that goes while its call waits leaves no call behind', async () => {
  const control = new LoadControl({ timers: systemTimers, limits: { inHandMax: 1, waitMs: 60_000 } });
  const places: string[] = [];
  const enter = (name: string) =>
    control.enter(
      'reads',
      'one',
      () => places.push(name),
      () => places.push(`${name} refused`),
    );
  const first = enter('first');
  const second = enter('second');
  const third = enter('third');
  second.leave();
  first.leave();
  expect(places).toEqual(['first', 'third']);
  third.leave();
});

/** Records for each named call whether it starts or is refused. */
function entering(control: LoadControl) {
  const outcome: string[] = [];
  const enter = (loadClass: 'signing' | 'continuing', tenant: string, name: string) =>
    control.enter(
      loadClass,
      tenant,
      () => outcome.push(`${name} starts`),
      () => outcome.push(`${name} is refused`),
    );
  return { outcome, enter };
}

it('a call that continues a session waits where one that begins a session is refused', async () => {
  const timers = new VirtualTimers();
  const { outcome, enter } = entering(new LoadControl({ timers, limits: { inHandMax: 1, waitMs: 100 } }));
  const held = [enter('signing', 'acme', 'begin 1'), enter('continuing', 'acme', 'share 1')];
  enter('signing', 'acme', 'begin 2');
  enter('continuing', 'acme', 'share 2');
  await timers.advance(900);
  expect(outcome).toEqual(['begin 1 starts', 'share 1 starts', 'begin 2 is refused']);
  for (const place of held) place.leave();
  expect(outcome.at(-1)).toBe('share 2 starts');
});

it('a tenant begins no session while a call waits that continues one of its sessions; other tenants do', async () => {
  const timers = new VirtualTimers();
  const { outcome, enter } = entering(new LoadControl({ timers, limits: { inHandMax: 4, waitMs: 10_000 } }));
  const shares = [1, 2, 3, 4].map((count) => enter('continuing', 'acme', `share ${count}`));
  enter('signing', 'acme', 'begin');
  enter('signing', 'other', 'the other’s begin');
  expect(outcome).toEqual(['share 1 starts', 'share 2 starts', 'share 3 starts', 'the other’s begin starts']);
  shares[0]!.leave();
  expect(outcome.slice(-2)).toEqual(['share 4 starts', 'begin starts']);
});

it('callers that are refused together are asked to come back at different times', () => {
  const control = new LoadControl({ timers: new VirtualTimers() });
  control.heed('transfers', () => '300 transfers wait');
  const asked = Array.from({ length: 800 }, () => control.refusal('transfers', 'busy')?.retryAfterS);
  expect(new Set(asked)).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]));
});

it('what presses on a class refuses its calls, and those of no other class or tenant', () => {
  const control = new LoadControl({ timers: systemTimers });
  control.heed('transfers', (tenant) => (tenant === 'busy' ? '300 transfers wait' : undefined));
  expect(control.refusal('transfers', 'busy')).toBeInstanceOf(ServiceError);
  expect(control.refusal('transfers', 'busy')).toMatchObject({ kind: 'overloaded', retryAfterS: 1 });
  expect(control.refusal('transfers', 'calm')).toBeUndefined();
  expect(control.refusal('writes', 'busy')).toBeUndefined();
});

/** A store of which only what these routes need exists. */
function storeWith(parts: Partial<TenantStore>): TenantStore {
  return parts as TenantStore;
}

const run: IdempotencyStart = { kind: 'run', owner: 'o', seed: new Uint8Array(16), startedMs: 0 };

function slowRoute(held: Promise<void>): Route {
  return route({
    method: 'POST',
    path: '/v1/slow',
    operationId: 'slow',
    tag: 'Wallets',
    summary: 'A change that takes its time',
    scope: 'wallets:write',
    responses: { 201: { schema: Closed({ done: Type.Boolean() }), description: 'done' } },
    handle: async () => {
      await held;
      return { status: 201, body: { done: true }, change: { events: [] } };
    },
  });
}

it('a request that is refused for load begins no idempotency record; the tenants beside a flood are served', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun: string[] = [];
  const store = storeWith({
    beginIdempotent: async (tenant, keyHash) => {
      begun.push(`${tenant} ${keyHash}`);
      return run;
    },
    settleIdempotent: async () => true,
    commit: async () => ({ committed: true, sequence: 1, allocated: undefined, balances: undefined }),
  });
  const app = await restApp({ routes: [slowRoute(held)], store, load: { inHandMax: 4, waitMs: 200 } });
  gateway = app;
  const call = (headers: Record<string, string>, key: string) =>
    app.app.inject({ method: 'POST', url: '/v1/slow', headers: { ...headers, 'idempotency-key': key } });
  const flood = Array.from({ length: 20 }, (_, index) => call(tokenOf('flood'), `key-${index}`));
  // The flood holds three of the four places; the last one is for others.
  await until(() => begun.length === 3, 'three requests begin');
  const other = call(tokenOf('other'), 'key');
  await until(() => begun.length === 4, 'the other tenant begins');
  const refused = (await Promise.race([Promise.all(flood.slice(3)), other])) as { statusCode: number }[];
  expect(refused.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 17 }, () => 429));
  expect(begun).toHaveLength(4);
  release();
  const served = await Promise.all([...flood.slice(0, 3), other]);
  expect(served.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201]);
  expect((await call(tokenOf('flood'), 'afterwards')).statusCode).toBe(201);
});

it('a store that does not answer a commit leaves the outcome unknown, and says how to learn it; before it nothing was changed', async () => {
  let changedNothing = false;
  const store = storeWith({
    beginIdempotent: async () => run,
    settleIdempotent: async () => true,
    commit: async () => {
      throw new StoreUnavailable('Redis does not answer', { changedNothing });
    },
  });
  const app = await restApp({ routes: [slowRoute(Promise.resolve())], store, load: oneAtATime });
  gateway = app;
  const call = () => callJson(app.app, { method: 'POST', url: '/v1/slow', token: testToken });
  const unknown = await call();
  expect(unknown.status).toBe(503);
  expect(unknown.headers['retry-after']).toBe('1');
  expect(unknown.body.error.message).toContain('whether the request took effect is unknown');
  expect(unknown.body.error.details).toMatchObject([{ field: '', issue: 'outcome_unknown' }]);
  changedNothing = true;
  const known = await call();
  expect(known.status).toBe(503);
  expect(known.body.error.message).toContain('nothing was changed');
});
