/** Inboxes: a URL that no one guesses, checks of all signatures, the last deliveries, and the faults of receivers. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemPorts, systemRandom } from '../../../core/actors/live/ports.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import { inboxRoutes } from '../../../gateway/sandbox/inbox-routes.ts';
import type { Inboxes } from '../../../gateway/sandbox/inboxes.ts';
import type { ReceiverBehaviour } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { signDelivery } from '../../../wallets/delivery/deliveries/public.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { FakeControl } from '../../support/fake-control.ts';
import { openGateway } from '../../support/gateway.ts';
import { type RestApp, restApp } from '../../support/rest-app.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const tokens = { own: newToken('sandbox', systemRandom), other: newToken('sandbox', systemRandom) };
const control = new FakeControl();
let behaviour: ReceiverBehaviour | null = null;
const asked = control.ask.bind(control);
control.ask = (method, takes) =>
  method === 'receiver.get' ? (Promise.resolve({ behaviour }) as never) : asked(method, takes);
let gateway: RestApp;
let inboxes: Inboxes;

beforeAll(async () => {
  gateway = await restApp({
    store: { commit: async () => ({ committed: true }) } as unknown as TenantStore,
    control,
    routes: (_, sandbox) => {
      inboxes = sandbox.inboxes;
      const webhooks = {
        register: async () => ({ status: 201, body: { id: `whk_${Math.random()}`, secret } }),
        remove: async () => ({ status: 204, change: { puts: [] } }),
      };
      return inboxRoutes({ inboxes, webhooks } as unknown as Parameters<typeof inboxRoutes>[0]);
    },
  });
  gateway.tokens.put(tokens.own, { tenant: 'tn_own', id: 'tok_own' });
  gateway.tokens.put(tokens.other, { tenant: 'tn_other', id: 'tok_other' });
});
afterAll(() => gateway.stop());
afterEach(() => {
  behaviour = null;
  inboxes.clear();
});

async function call(method: 'GET' | 'POST' | 'DELETE', url: string, token = tokens.own) {
  const answer = await gateway.http.inject({ method, url, headers: { authorization: `Bearer ${token}` } });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  return { status: answer.statusCode, body: (answer.body === '' ? undefined : answer.json()) as any };
}

async function made(): Promise<{ readonly id: string; readonly path: string }> {
  inboxes.reachedAt('0.0.0.0:8080');
  const { status, body } = await call('POST', '/v1/sandbox/inboxes');
  expect([status, body.secret]).toEqual([201, secret]);
  expect(body.url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/v1\/sandbox\/inbox\/[0-9a-f]{32}$/);
  return { id: body.id, path: new URL(body.url).pathname };
}

const deliver = (path: string, body: string | Buffer, headers: object) =>
  gateway.http.inject({
    method: 'POST',
    url: path,
    payload: body,
    headers: { 'content-type': 'application/json', ...headers },
  });
const signed = (body: string, ageMs = 0) =>
  signDelivery([secret], 'evt_1', (systemPorts.timers.epochMs() - ageMs) as never, Buffer.from(body));

describe('an inbox', () => {
  it('keeps what it gets, with what its checks found', async () => {
    const { id, path } = await made();
    const body = '{"type":"wallet.created"}';
    expect((await deliver(path, body, signed(body))).statusCode).toBe(200);
    await deliver(path, `${body} `, signed(body));
    for (const ageMs of [400_000, -400_000]) await deliver(path, body, signed(body, ageMs));
    await deliver(path, body, {});
    const { deliveries, received } = (await call('GET', `/v1/sandbox/inboxes/${id}`)).body;
    expect(received).toBe(5);
    const checks = deliveries.map((one: { checks: object }) => Object.values(one.checks)).reverse();
    expect(checks).toEqual([
      ['valid', 'valid', 'valid'],
      ['invalid', 'valid', 'invalid'],
      ['valid', 'invalid', 'valid'],
      ['valid', 'invalid', 'valid'],
      ['missing', 'missing', 'missing'],
    ]);
    expect(deliveries.at(-1)).toMatchObject({ body, bytes: 25, answered: 200, headers: { 'webhook-id': 'evt_1' } });
  });

  it('keeps the last 200 deliveries, and 64 KB of a body, which it checks as a whole', async () => {
    const { id, path } = await made();
    const long = `"${'x'.repeat(100_000)}"`;
    await deliver(path, long, signed(long));
    const [one] = (await call('GET', `/v1/sandbox/inboxes/${id}`)).body.deliveries;
    expect(one.body).toHaveLength(65_536);
    expect([one.bytes, one.checks.x_svc_signature]).toEqual([100_002, 'valid']);
    const inbox = inboxes.find('tn_own', id)!;
    for (let count = 0; count < 250; count += 1)
      inboxes.receive(inbox, { count: String(count) }, new Uint8Array(), 200);
    const { deliveries, received } = (await call('GET', `/v1/sandbox/inboxes/${id}`)).body;
    expect([deliveries.length, deliveries[0].headers.count, received]).toEqual([200, '249', 251]);
  });

  it('answers as the faults of receivers say', async () => {
    const { id, path } = await made();
    behaviour = { status: 503, slowMs: 1 };
    expect((await deliver(path, '{}', {})).statusCode).toBe(503);
    behaviour = { reset: true };
    await expect(deliver(path, '{}', {})).rejects.toThrow();
    const { deliveries } = (await call('GET', `/v1/sandbox/inboxes/${id}`)).body;
    expect(deliveries.map(({ answered }: { answered: number | null }) => answered)).toEqual([null, 503]);
  });

  it('is its tenant’s, and its URL disables the webhook once it has ended', async () => {
    const { id, path } = await made();
    expect((await call('GET', '/v1/sandbox/inboxes')).body.inboxes).toMatchObject([{ id, received: 0 }]);
    expect((await call('GET', '/v1/sandbox/inboxes', tokens.other)).body.inboxes).toEqual([]);
    expect((await call('GET', `/v1/sandbox/inboxes/${id}`, tokens.other)).status).toBe(404);
    expect((await call('DELETE', `/v1/sandbox/inboxes/${id}`, tokens.other)).status).toBe(404);
    expect((await call('DELETE', `/v1/sandbox/inboxes/${id}`)).status).toBe(204);
    expect((await call('GET', `/v1/sandbox/inboxes/${id}`)).status).toBe(404);
    expect((await deliver(path, '{}', {})).statusCode).toBe(410);
    expect((await deliver('/v1/sandbox/inbox/x', '{}', {})).statusCode).toBe(410);
  });

  it('needs a gateway that the workers reach, and a sandbox', async () => {
    const alone = await restApp({
      store: {} as TenantStore,
      routes: (_, sandbox) => inboxRoutes({ inboxes: sandbox.inboxes } as unknown as Parameters<typeof inboxRoutes>[0]),
    });
    alone.tokens.put(tokens.own, { tenant: 'tn_own' });
    const headers = { authorization: `Bearer ${tokens.own}` };
    const answer = await alone.http.inject({ method: 'POST', url: '/v1/sandbox/inboxes', headers });
    expect([answer.statusCode, answer.json().error.details[0].issue]).toEqual([422, 'not_supported']);
    await alone.stop();
    const production = await openGateway({ environment: 'production' });
    expect((await production.http.inject({ method: 'POST', url: '/v1/sandbox/inbox/x' })).statusCode).toBe(404);
    await production.stop();
  });
});
