/** GET /v1/me says of each token what it is and may do, in a sandbox and in production. */
import { afterEach, expect, test } from 'vitest';
import { systemRandom } from '../../core/actors/live/ports.ts';
import { meRoutes } from '../../gateway/auth/me-route.ts';
import { newToken } from '../../gateway/auth/token-format.ts';
import { type RateLimitConfig, rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import { type RestApp, restApp } from '../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../support/store.ts';

const testToken = newToken('sandbox', systemRandom);
const liveToken = newToken('production', systemRandom);
let rest: RestApp;
let stores: StoreUnderTest;
afterEach(async () => {
  await rest.app.close();
  await stores.stop();
});

async function open(environment: ClusterEnvironment = 'sandbox', limits?: RateLimitConfig): Promise<void> {
  stores = await startStore();
  rest = await restApp({ routes: meRoutes(limits), store: await stores.open(), environment });
}

async function me(token: string): Promise<{ status: number; body: unknown; text: string }> {
  const answer = await rest.app.inject({ url: '/v1/me', headers: { authorization: `Bearer ${token}` } });
  return { status: answer.statusCode, body: answer.json(), text: answer.body };
}

test('a limited token of one scope reads its own name, connections, end and person, and never its secret', async () => {
  await open('production', rateLimitDefaults);
  rest.tokens.put(liveToken, {
    ...{ id: 'tok_2', actorId: 'tok_1', environment: 'production', name: 'desk', createdAtMs: 0 },
    ...{
      expiresAtMs: Date.UTC(2999, 0),
      scopes: ['wallets:read', 'intents:approve'],
      providerConnectionIds: ['pcn_1'],
    },
  });
  const { status, body, text } = await me(liveToken);
  expect(status).toBe(200);
  expect(body).toEqual({
    tenant: 'tn_acme',
    environment: 'production',
    actor: 'tok_1',
    // A token of some connections has no vote, whatever it was issued with.
    may_vote: false,
    token: {
      ...{ id: 'tok_2', name: 'desk' },
      ...{ created_at: '1970-01-01T00:00:00.000Z', expires_at: '2999-01-01T00:00:00.000Z' },
    },
    scopes: ['wallets:read'],
    provider_connection_ids: ['pcn_1'],
    rate_limits: [
      { class: 'reads', calls: 300, window_s: 10 },
      { class: 'writes', calls: 100, window_s: 10 },
      { class: 'signing', calls: 2_000, window_s: 10 },
    ],
  });
  expect(text).not.toContain(liveToken);
});

test('a voter is told so; a token that was never issued is a person of its own tenant', async () => {
  await open();
  rest.tokens.put(testToken, { scopes: ['intents:approve'] });
  expect((await me(testToken)).body).toMatchObject({
    ...{ may_vote: true, actor: 'tok_1', token: { name: null, expires_at: null }, rate_limits: [] },
  });
  const { body } = await me(newToken('sandbox', systemRandom));
  const { tenant } = body as { tenant: string };
  expect(body).toMatchObject({ actor: `tenant:${tenant}`, token: null, provider_connection_ids: null, may_vote: true });
});

test('an invalid token is 401', async () => {
  await open('production');
  expect((await me(liveToken)).status).toBe(401);
});
