/** /v1/webhooks: registration, secrets that are shown once, limits, and the events that tell of it. On a real Redis. */
import type { LightMyRequestResponse } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { eventRoutes } from '../../../wallets/delivery/events/routes.ts';
import {
  aboutSecret,
  type WebhookRecord,
  webhooksMax,
  webhookType,
} from '../../../wallets/delivery/webhooks/record.ts';
import { webhookRoutes } from '../../../wallets/delivery/webhooks/routes.ts';
import { answerSeal } from '../../../wallets/store/secrets/answer-seal.ts';
import { type RestApp, restApp } from '../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../support/store.ts';
import { idleWebhookService } from './support/webhook-service.ts';

let redis: StoreUnderTest;
const apps: RestApp[] = [];
const key = { id: '1', key: new Uint8Array(32).fill(5) };
const seal = answerSeal({ current: () => key, find: () => key, random: systemRandom });

beforeAll(async () => {
  redis = await startStore();
});
afterEach(async () => {
  for (const { app } of apps.splice(0)) await app.close();
});
afterAll(async () => {
  await redis.stop();
});

let tenants = 0;

interface Caller extends RestApp {
  readonly tenant: string;
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object): Promise<LightMyRequestResponse>;
}

async function caller(environment: ClusterEnvironment = 'sandbox'): Promise<Caller> {
  tenants += 1;
  const tenant = `tn_hooks${tenants}`;
  const routes = [
    ...webhookRoutes({ environment, seal, random: systemRandom, webhookService: idleWebhookService }),
    ...eventRoutes(),
  ];
  const made = await restApp({ routes, store: await redis.open(), environment, seal });
  apps.push(made);
  const token = newToken(environment, systemRandom);
  made.tokens.put(token, { tenant, environment });
  return {
    ...made,
    tenant,
    call: (method, path, payload) =>
      made.app.inject({
        method,
        url: `/v1/${path}`,
        headers: { authorization: `Bearer ${token}` },
        ...(payload === undefined ? {} : { payload }),
      }),
  };
}

const url = 'https://example.com/hooks?a=1';
const maskedUrl = 'https://example.com/hooks?a=***';

describe('registration', () => {
  it('answers with the secret, once, and keeps it sealed', async () => {
    const { call, tenant } = await caller();
    const answer = await call('POST', 'webhooks', { url, events: ['wallet.*', 'webhook.ping'], description: 'mine' });
    expect(answer.statusCode).toBe(201);
    const { secret, ...shown } = answer.json() as { secret: string; id: string };
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toEqual({
      id: expect.stringMatching(/^whk_/),
      url,
      events: ['wallet.*', 'webhook.ping'],
      description: 'mine',
      status: 'enabled',
      suspended_at: null,
      failing_since: null,
      previous_secret_expires_at: null,
      queue: { outstanding: 0, retrying: 0, behind: 0 },
      version: 1,
      created_at: expect.stringMatching(/^20/),
      updated_at: expect.stringMatching(/^20/),
    });
    expect((await call('GET', `webhooks/${shown.id}`)).json()).toEqual(shown);
    expect((await call('GET', 'webhooks')).json()).toEqual({ webhooks: [shown], has_more: false, next_cursor: null });
    const record = (await (await redis.open()).read(tenant, webhookType, shown.id)) as WebhookRecord;
    const [{ sealed, endsAtMs } = { sealed: '', endsAtMs: 0 }] = record.secrets;
    expect(seal.open(sealed, aboutSecret(tenant, shown.id))).toBe(secret);
    expect(() => seal.open(sealed, aboutSecret('tn_other', shown.id))).toThrow();
    expect(endsAtMs).toBeNull();
    const events = (await call('GET', 'events')).body;
    expect(JSON.stringify(record) + events).not.toContain(secret.slice(6));
    // What changes by itself is no part of an event.
    const {
      queue: _q,
      failing_since: _f,
      previous_secret_expires_at: _p,
      ...object
    } = shown as Record<string, unknown>;
    const [created] = JSON.parse(events).events as { type: string; data: { object: object } }[];
    expect(created).toMatchObject({ type: 'webhook.created' });
    // The values of the query are secrets of the receiver: neither record nor event has them in clear.
    expect(created?.data.object).toEqual({ ...object, url: maskedUrl });
    expect(record.url).toBe(maskedUrl);
  });

  it('repeated under its key gives the same secret', async () => {
    const { app, tokens, tenant } = await caller();
    const token = newToken('sandbox', systemRandom);
    tokens.put(token, { tenant });
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'once' };
    const post = () => app.inject({ method: 'POST', url: '/v1/webhooks', headers, payload: { url, events: ['*'] } });
    const [one, two] = [await post(), await post()];
    expect(two.body).toBe(one.body);
    expect(two.headers['idempotent-replayed']).toBe('true');
  });

  it.each<[ClusterEnvironment, object, string[]]>([
    ['sandbox', {}, ['url missing_required', 'events missing_required']],
    ['sandbox', { url, events: [] }, ['events too_few_items']],
    ['sandbox', { url, events: ['nothing', '*'] }, ['events not_allowed_value']],
    ['sandbox', { url, events: ['nothing', 'wallet.created'] }, ['events[0] not_allowed_value']],
    ['sandbox', { url, events: ['*', '*'] }, ['events[1] duplicate_item']],
    ['sandbox', { url: 'not a url', events: ['x'] }, ['url invalid_format', 'events[0] not_allowed_value']],
    ['sandbox', { url: 'ftp://example.com', events: ['*'] }, ['url scheme_not_allowed']],
    ['sandbox', { url: 'https://a:b@example.com', events: ['*'] }, ['url credentials_not_allowed']],
    ['sandbox', { url: 'http://169.254.169.254/', events: ['*'] }, ['url address_not_allowed']],
    ['sandbox', { url: `https://example.com/${'x'.repeat(2_048)}`, events: ['*'] }, ['url too_long']],
    ['sandbox', { url, events: ['*'], secret: 'mine' }, ['secret unknown_field']],
    ['sandbox', { url, events: ['*'], description: 'x'.repeat(201) }, ['description too_long']],
    ['production', { url: 'http://example.com', events: ['*'] }, ['url scheme_not_allowed']],
    ['production', { url: 'https://127.0.0.1/', events: ['*'] }, ['url address_not_allowed']],
  ])('in %s of %j is refused', async (environment, body, expected) => {
    const { call } = await caller(environment);
    const answer = await call('POST', 'webhooks', body);
    expect(answer.statusCode).toBe(400);
    const details = answer.json().error.details as { field: string; issue: string }[];
    expect(details.map(({ field, issue }) => `${field} ${issue}`)).toEqual(expected);
  });

  it.each([
    ['http://example.com\\@169.254.169.254/', 'http://example.com/@169.254.169.254/'],
    [' https://exa\tmple.com/a\nb', 'https://example.com/ab'],
    ['HTTPS://EXAMPLE.com:443/a/../b c', 'https://example.com/b%20c'],
    ['http://0x7f.1:9/x', 'http://127.0.0.1:9/x'],
  ])('shows of %j the address that is called, made and changed', async (given, called) => {
    const { call } = await caller();
    const made = await call('POST', 'webhooks', { url: given, events: ['*'] });
    expect([made.statusCode, made.json().url]).toEqual([201, called]);
    const path = `webhooks/${made.json().id}`;
    await call('PATCH', path, { url: 'https://example.com/other' });
    expect((await call('PATCH', path, { url: given })).json().url).toBe(called);
    expect((await call('GET', path)).json().url).toBe(called);
    const same = await call('PATCH', path, { url: given });
    expect(same.json().version).toBe(3);
  });

  it('refuses an address that is too long as the parser writes it', async () => {
    const { call } = await caller();
    const answer = await call('POST', 'webhooks', { url: `https://example.com/${'é'.repeat(1_000)}`, events: ['*'] });
    expect([answer.statusCode, answer.json().error.details[0].issue]).toEqual([400, 'too_long']);
  });

  it('reaches loopback in a sandbox', async () => {
    const { call } = await caller();
    expect((await call('POST', 'webhooks', { url: 'http://127.0.0.1:9/x', events: ['*'] })).statusCode).toBe(201);
  });

  it('ends at the limit, also for many at once, and continues after a removal', async () => {
    const { call } = await caller();
    const post = () => call('POST', 'webhooks', { url, events: ['*'] });
    for (let made = 0; made < webhooksMax - 2; made += 1) expect((await post()).statusCode).toBe(201);
    const statuses = (await Promise.all(Array.from({ length: 6 }, post))).map(({ statusCode }) => statusCode);
    expect(statuses.sort()).toEqual([201, 201, 409, 409, 409, 409]);
    const full = await post();
    expect(full.json().error.details).toEqual([{ field: '', issue: 'too_many_webhooks' }]);
    const { webhooks } = (await call('GET', 'webhooks')).json() as { webhooks: { id: string }[] };
    expect(webhooks).toHaveLength(webhooksMax);
    expect((await call('DELETE', `webhooks/${webhooks[3]?.id}`)).statusCode).toBe(204);
    expect((await post()).statusCode).toBe(201);
  });
});

describe('a webhook', () => {
  it('is changed field by field; what is as it was makes no event', async () => {
    const { call } = await caller();
    const { id } = (await call('POST', 'webhooks', { url, events: ['*'], description: 'a' })).json() as { id: string };
    const changed = await call('PATCH', `webhooks/${id}`, { description: null, status: 'disabled' });
    expect(changed.json()).toMatchObject({ description: null, status: 'disabled', events: ['*'], version: 2 });
    const same = await call('PATCH', `webhooks/${id}`, { status: 'disabled', events: ['*'] });
    expect([same.statusCode, same.json().version]).toEqual([200, 2]);
    const { events } = (await call('GET', 'events')).json() as { events: { type: string }[] };
    expect(events.map(({ type }) => type)).toEqual(['webhook.created', 'webhook.updated']);
  });

  it.each([
    [{}],
    [{ status: 'suspended' }],
    [{ url: null }],
    [{ url: 'nonsense' }],
    [{ events: ['x'] }],
    [{ id: 'x' }],
  ])('is not changed by %j', async (patch) => {
    const { call } = await caller();
    const { id } = (await call('POST', 'webhooks', { url, events: ['*'] })).json() as { id: string };
    expect((await call('PATCH', `webhooks/${id}`, patch)).statusCode).toBe(400);
    expect((await call('GET', `webhooks/${id}`)).json().version).toBe(1);
  });

  it('is gone once it is removed', async () => {
    const { call } = await caller();
    const { id } = (await call('POST', 'webhooks', { url, events: ['*'] })).json() as { id: string };
    const removed = await call('DELETE', `webhooks/${id}`);
    expect([removed.statusCode, removed.body]).toEqual([204, '']);
    for (const method of ['GET', 'DELETE'] as const)
      expect((await call(method, `webhooks/${id}`)).statusCode).toBe(404);
    expect((await call('GET', 'webhooks')).json().webhooks).toEqual([]);
    const { events } = (await call('GET', 'events?type=webhook.deleted')).json() as { events: unknown[] };
    expect(events).toMatchObject([{ resource: { type: 'webhook', id }, data: { object: { id, url: maskedUrl } } }]);
  });

  it('is removed once, however many ask', async () => {
    const { call } = await caller();
    const { id } = (await call('POST', 'webhooks', { url, events: ['*'] })).json() as { id: string };
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('DELETE', `webhooks/${id}`)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([204, 404, 404, 404, 404]);
    expect((await call('GET', 'events?type=webhook.deleted')).json().events).toHaveLength(1);
  });
});
