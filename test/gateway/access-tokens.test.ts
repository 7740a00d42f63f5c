/** Tokens that a token issues: one person, at most the issuer's rights, and an end with the issuer's. Two gateways over one Redis. */
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../core/actors/live/ports.ts';
import { accessTokenRoutes } from '../../gateway/auth/access-token-routes.ts';
import { freshMs } from '../../gateway/auth/authenticator.ts';
import { meRoutes } from '../../gateway/auth/me-route.ts';
import { hashToken } from '../../gateway/auth/token-format.ts';
import { issuersMax, tokensMax } from '../../gateway/auth/token-record.ts';
import { type IssuedToken, type TokenRequest, TokenStore } from '../../gateway/auth/token-store.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';
import { storeKeys } from '../../wallets/store/layout.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { callJson, type JsonAnswer, tokenKey } from '../support/gateway.ts';
import { describeScript } from '../support/redis-script.ts';
import { type RestApp, restApp } from '../support/rest-app.ts';
import { storePorts } from '../support/store-ports.ts';

const tenant = 'tn_acme';
const own = '01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e';
const other = '01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3f';
const hourMs = 3_600_000;

let memory: MemoryRedis;
let tokens: TokenStore;
let gateways: RestApp[];
let root: IssuedToken;

beforeEach(async () => {
  memory = new MemoryRedis(systemClock);
  tokens = storeOn(memory.client());
  gateways = await Promise.all([openGateway(), openGateway()]);
  root = await issueRoot();
});
afterEach(() => Promise.all(gateways.map((one) => one.stop())));

function storeOn(redis: Redis): TokenStore {
  return new TokenStore(redis, tokenKey, { clock: systemClock, random: systemRandom });
}

async function openGateway(): Promise<RestApp> {
  const redis = memory.client();
  const issuing = storeOn(redis);
  const app = await restApp({
    routes: [...accessTokenRoutes(issuing), ...meRoutes(undefined)],
    store: new RedisTenantStore(redis, storePorts),
  });
  app.tokens.others = issuing;
  return app;
}

function issueRoot(over: Partial<TokenRequest> = {}): Promise<IssuedToken> {
  return tokens.issueToken({
    ...{ tenant, environment: 'sandbox', lifetimeMs: hourMs },
    scopes: ['access_tokens:read', 'access_tokens:write', 'wallets:read', 'intents:approve'],
    ...over,
  });
}

function call(token: string, method: string, path = '', body?: object, gateway = 0, headers = {}): Promise<JsonAnswer> {
  return callJson(gateways[gateway]!.app, { method, url: `/v1/access-tokens${path}`, token, body, headers });
}

/** A token as its caller's answer holds it. */
async function issued(by: string, body: object = {}, gateway = 0): Promise<{ id: string; token: string }> {
  const answer = await call(
    by,
    'POST',
    '',
    { scopes: ['access_tokens:write', 'access_tokens:read'], ...body },
    gateway,
  );
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

/** What each gateway answers to the token, when what it has cached is old. */
async function meOf(token: string): Promise<readonly JsonAnswer[]> {
  for (const { clock } of gateways) clock.offsetMs += freshMs;
  return Promise.all(gateways.map(({ app }) => callJson(app, { method: 'GET', url: '/v1/me', token })));
}

async function statusesOf(token: string): Promise<readonly number[]> {
  return (await meOf(token)).map(({ status }) => status);
}

async function told(): Promise<readonly string[]> {
  const events = await memory.client().xrange(`sm:{t:${tenant}}:evt`, '-', '+');
  return events.flatMap(([, fields]) => /access_token\.\w+/.exec(fields.join(' '))?.[0] ?? []);
}

test('an issued token works at every gateway, as the same person with the rights that it was given', async () => {
  const child = await issued(root.token, { name: 'reports' });
  const grandchild = await issued(child.token, { scopes: ['access_tokens:read'] }, 1);
  for (const { status, body } of await meOf(grandchild.token)) {
    expect(status).toBe(200);
    expect(body).toMatchObject({ tenant, actor: root.record.id, scopes: ['access_tokens:read'], may_vote: false });
    expect(body.token.expires_at).toBe(new Date(root.record.expiresAtMs!).toISOString());
  }
  const read = await call(root.token, 'GET', `/${grandchild.id}`, undefined, 1);
  expect(read.body).toMatchObject({ actor: root.record.id, issuers: [root.record.id, child.id], status: 'active' });
  expect(JSON.stringify(read.body)).not.toContain(grandchild.token);
  expect(await told()).toEqual(['access_token.issued', 'access_token.issued']);
});

test('a test token that was never issued issues tokens of its own tenant and person', async () => {
  const madeUp = 'svc_sk_test_madeUpTokenOfATenant';
  const child = await issued(madeUp);
  const [me] = await meOf(child.token);
  expect(me!.body).toMatchObject({ actor: `tenant:${me!.body.tenant}`, token: { id: child.id } });
  expect((await call(madeUp, 'POST', `/${child.id}/revoke`)).body.status).toBe('revoked');
  expect(await statusesOf(child.token)).toEqual([401, 401]);
});

const limited = { scopes: ['access_tokens:write', 'wallets:read'], providerConnectionIds: [`pcn_${own}`] } as const;

test.each<[string, Partial<TokenRequest>, object, number, string, string]>([
  ['another scope', {}, { scopes: ['wallets:read', 'wallets:write'] }, 403, 'scopes', 'beyond_issuer'],
  ['every tenant', {}, { scopes: ['sandbox:admin'] }, 400, 'scopes[0]', 'not_allowed_value'],
  [
    'a longer life',
    {},
    { expires_at: new Date(Date.now() + hourMs + 60_000).toISOString() },
    403,
    'expires_at',
    'beyond_issuer',
  ],
  ['a life that is over', {}, { expires_at: '2001-01-01T00:00:00Z' }, 400, 'expires_at', 'too_small'],
  [
    'another connection',
    limited,
    { provider_connection_ids: [`pcn_${own}`, `pcn_${other}`] },
    403,
    'provider_connection_ids',
    'beyond_issuer',
  ],
  [
    'a connection of another tenant',
    {},
    { provider_connection_ids: [`pcn_${other}`] },
    404,
    'provider_connection_ids',
    'not_found',
  ],
  [
    'a vote, for a token of one connection',
    {},
    { scopes: ['intents:approve'], provider_connection_ids: [`pcn_${own}`] },
    400,
    'scopes',
    'not_applicable',
  ],
])('a token gives no other one %s', async (_, over, body, status, field, issue) => {
  const { token } = await issueRoot(over);
  const answer = await call(token, 'POST', '', { scopes: ['wallets:read'], ...body });
  expect(answer).toMatchObject({ status, body: { error: { details: [{ field, issue }] } } });
  expect(await told()).toEqual([]);
});

test('a token of some connections issues tokens of these connections, and sees its own line alone', async () => {
  const { token, record } = await issueRoot({ ...limited, scopes: [...limited.scopes, 'access_tokens:read'] });
  const child = await issued(token);
  expect((await call(token, 'GET', `/${child.id}`)).body.provider_connection_ids).toEqual([`pcn_${own}`]);
  const { body } = await call(token, 'GET');
  expect(body.access_tokens.map(({ id }: { id: string }) => id)).toEqual([child.id, record.id]);
  expect((await call(token, 'GET', `/${root.record.id}`)).status).toBe(404);
});

test('a token of another tenant finds none of this one', async () => {
  const stranger = await issueRoot({ tenant: 'tn_other' });
  for (const path of ['', '/rotate', '/revoke']) {
    const answer = await call(stranger.token, path === '' ? 'GET' : 'POST', `/${root.record.id}${path}`);
    expect(answer.status).toBe(404);
  }
  expect(await statusesOf(root.token)).toEqual([200, 200]);
});

test('a token changes neither its issuer nor what that issued besides', async () => {
  const one = await issued(root.token);
  const two = await issued(root.token);
  for (const id of [root.record.id, two.id]) {
    for (const action of ['rotate', 'revoke']) {
      const answer = await call(one.token, 'POST', `/${id}/${action}`);
      expect(answer).toMatchObject({ status: 403, body: { error: { details: [{ issue: 'beyond_issuer' }] } } });
    }
  }
});

test('revoking a token revokes what it issued, at every gateway, and is told once', async () => {
  const child = await issued(root.token);
  const grandchild = await issued(child.token);
  const sibling = await issued(root.token);
  expect((await call(root.token, 'POST', `/${child.id}/revoke`)).body.status).toBe('revoked');
  expect((await call(root.token, 'POST', `/${child.id}/revoke`, undefined, 1)).body.status).toBe('revoked');
  for (const { token } of [child, grandchild]) expect(await statusesOf(token)).toEqual([401, 401]);
  expect(await statusesOf(sibling.token)).toEqual([200, 200]);
  const { body } = await call(root.token, 'GET');
  const statuses = body.access_tokens.map(({ status }: { status: string }) => status);
  expect(statuses).toEqual(['active', 'revoked', 'revoked', 'active']);
  expect((await told()).filter((type) => type === 'access_token.revoked')).toHaveLength(1);
});

test('what a revoked token still issues at a gateway that has it cached never works', async () => {
  const child = await issued(root.token);
  await issued(child.token, {}, 1);
  await call(root.token, 'POST', `/${child.id}/revoke`);
  const late = await issued(child.token, {}, 1);
  expect(await statusesOf(late.token)).toEqual([401, 401]);
});

test('a rotated token keeps rights, person and end, and what the old one issued ends', async () => {
  const child = await issued(root.token, { expires_at: new Date(Date.now() + hourMs / 2).toISOString() });
  const grandchild = await issued(child.token);
  const before = (await call(root.token, 'GET', `/${child.id}`)).body;
  const { status, body: after } = await call(child.token, 'POST', `/${child.id}/rotate`);
  expect(status).toBe(200);
  const { id, token, created_at, ...kept } = after;
  expect(before).toMatchObject(kept);
  expect([await statusesOf(token), await statusesOf(child.token), await statusesOf(grandchild.token)]).toEqual([
    [200, 200],
    [401, 401],
    [401, 401],
  ]);
  const again = await call(root.token, 'POST', `/${child.id}/rotate`);
  expect(again).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'state_conflict' }] } } });
  await call(root.token, 'POST', `/${id}/revoke`);
  expect(await statusesOf(token)).toEqual([401, 401]);
});

test('a token that has expired is not rotated', async () => {
  const issuer = { actorId: root.record.id, issuers: [root.record.id] };
  const scopes = ['wallets:read'] as const;
  const { record } = await tokens.issueToken({ tenant, environment: 'sandbox', scopes, expiresAtMs: 1, issuer });
  const answer = await call(root.token, 'POST', `/${record.id}/rotate`);
  expect(answer).toMatchObject({ status: 409, body: { error: { message: 'the token is expired' } } });
});

test('a token prolongs its own life by no rotation; the operator does that of one that no token issued', async () => {
  const { body } = await call(root.token, 'POST', `/${root.record.id}/rotate`);
  expect(body.expires_at).toBe(new Date(root.record.expiresAtMs!).toISOString());
  const child = await issued(body.token);
  const renewed = await tokens.rotateToken(tenant, child.id);
  expect(renewed!.record.expiresAtMs).toBe(root.record.expiresAtMs);
});

test('a line has an end', async () => {
  let last = root.token;
  for (let depth = 0; depth < issuersMax; depth += 1) last = (await issued(last)).token;
  const answer = await call(last, 'POST', '', { scopes: ['access_tokens:read'] });
  expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'too_many' }] } } });
});

test('a repeat gets the same token; no other token of the line does, even with the same rights', async () => {
  const scopes = ['access_tokens:write', 'access_tokens:read', 'wallets:read', 'intents:approve'];
  const child = await issued(root.token, { scopes });
  const sibling = await issued(root.token, { scopes });
  for (const by of [root, child]) {
    const key = { 'idempotency-key': 'one' };
    const body = { scopes: ['wallets:read'], name: by.token };
    const first = await call(by.token, 'POST', '', body, 0, key);
    const again = await call(by.token, 'POST', '', body, 1, key);
    expect(again.body.token).toBe(first.body.token);
    for (const { token } of [root, child, sibling].filter((other) => other !== by)) {
      const stolen = await call(token, 'POST', '', body, 0, key);
      expect(stolen).toMatchObject({
        status: 409,
        body: { error: { details: [{ issue: 'idempotency_key_reused' }] } },
      });
    }
  }
});

test('pages have every token once, also while the list grows', async () => {
  const ids = [root.record.id];
  for (let index = 0; index < 4; index += 1) ids.push((await issued(root.token)).id);
  const seen: string[] = [];
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await call(root.token, 'GET', `?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.access_tokens.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
    await issueRoot();
  }
  expect(seen).toEqual(ids.reverse());
});

test('a tenant has so many tokens at most; those that ended long ago make room', async () => {
  const long = new Date(Date.now() - 40 * 24 * hourMs).getTime();
  const past = new TokenStore(memory.client(), tokenKey, { clock: { nowMs: () => long }, random: systemRandom });
  const ended = await past.issueToken({ tenant, environment: 'sandbox', scopes: ['wallets:read'], lifetimeMs: 1 });
  const lately = await issueRoot();
  const entries = Array.from({ length: tokensMax - 3 }, (_, index) => [`tok_0-${index}`, 'none']);
  await memory.client().hset(storeKeys.tokens(tenant), ...entries.flat());
  await tokens.revokeToken(tenant, lately.record.id);
  await issued(root.token);
  expect(await tokens.lookup(hashToken(ended.token, tokenKey))).toBeUndefined();
  expect(await tokens.lookup(hashToken(lately.token, tokenKey))).toBeDefined();
  const answer = await call(root.token, 'POST', '', { scopes: ['wallets:read'] });
  expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'too_many' }] } } });
});

test('a line that something else changed in Redis is refused', async () => {
  const child = await issued(root.token);
  const key = `sm:tok:${hashToken(child.token, tokenKey)}`;
  await memory.client().hset(key, 'issuers', '');
  expect(await statusesOf(child.token)).toEqual([401, 401]);
  const answer = await call(root.token, 'GET', `/${child.id}`);
  expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'store_tampered' }] } } });
});

test.each<[string, Partial<TokenRequest>]>([
  ['the tenant', {}],
  ['another tenant', { tenant: 'tn_other' }],
])('a revoked token that the index passes off for a valid one of %s stays revoked', async (_, over) => {
  const child = await issued(root.token);
  const grandchild = await issued(child.token);
  await call(root.token, 'POST', `/${child.id}/revoke`);
  const valid = await issueRoot(over);
  const hash = hashToken(valid.token, tokenKey);
  await memory.client().hset(storeKeys.tokens(tenant), child.id, hash, valid.record.id, hash);
  expect(await statusesOf(grandchild.token)).toEqual([401, 401]);
  expect((await call(root.token, 'GET', `/${child.id}`)).status).toBe(404);
  const { status } = await call(root.token, 'GET', `/${valid.record.id}`);
  expect(status).toBe(over.tenant === undefined ? 200 : 404);
});

describe('between any two commands of a rotation', () => {
  /** A store that runs `meanwhile` before its n-th command of a call. */
  function interrupted(n: number, meanwhile: () => Promise<unknown>): { store: TokenStore; left: () => number } {
    let left = n;
    const redis = memory.client({
      command: async (perform) => {
        left -= 1;
        if (left === 0) await meanwhile();
        return perform();
      },
    });
    return { store: storeOn(redis), left: () => left };
  }

  /** Calls `attempt` with 1, 2, … until it answers false: the call has fewer commands. */
  async function walk(attempt: (n: number) => Promise<boolean>): Promise<number> {
    let n = 1;
    while (await attempt(n)) n += 1;
    return n - 1;
  }

  async function validTokens(): Promise<readonly string[]> {
    const records = await tokens.listTokens(tenant);
    return records.filter(({ revokedAtMs }) => revokedAtMs === undefined).map(({ id }) => id);
  }

  test('a revocation wins: no token of the two remains', async () => {
    const steps = await walk(async (n) => {
      const { record } = await issueRoot({ tenant });
      const before = await validTokens();
      const { store, left } = interrupted(n, () => tokens.revokeToken(tenant, record.id));
      const rotated = await store.rotateToken(tenant, record.id);
      if (left() > 0) return false;
      expect(rotated).toBeUndefined();
      expect(await validTokens()).toEqual(before.filter((id) => id !== record.id));
      return true;
    });
    expect(steps).toBeGreaterThan(4);
  });

  test('one of two rotations wins', async () => {
    await walk(async (n) => {
      const { record } = await issueRoot();
      const before = await validTokens();
      let first: IssuedToken | undefined;
      const { store, left } = interrupted(n, async () => {
        first = await tokens.rotateToken(tenant, record.id);
      });
      const second = await store.rotateToken(tenant, record.id);
      if (left() > 0) return false;
      expect(second).toBeUndefined();
      expect(new Set(await validTokens())).toEqual(
        new Set([...before.filter((id) => id !== record.id), first!.record.id]),
      );
      return true;
    });
  });

  test('the revocation of the issuer ends the new token too', async () => {
    await walk(async (n) => {
      const issuer = await issueRoot();
      const child = await tokens.issueToken({
        ...{ tenant, environment: 'sandbox', scopes: ['wallets:read'] },
        issuer: { actorId: issuer.record.id, issuers: [issuer.record.id] },
      });
      const before = await validTokens();
      const { store, left } = interrupted(n, () => tokens.revokeToken(tenant, issuer.record.id));
      await store.rotateToken(tenant, child.record.id);
      if (left() > 0) return false;
      expect(await validTokens()).toEqual(
        before.filter((id) => ![issuer, child].some(({ record }) => record.id === id)),
      );
      return true;
    });
  });

  test('a crash leaves the old token, which a repeat rotates', async () => {
    await walk(async (n) => {
      const { record } = await issueRoot();
      const { store, left } = interrupted(n, () => Promise.reject(new Error('the gateway died')));
      const outcome = await store.rotateToken(tenant, record.id).catch(() => 'died');
      if (left() > 0) return false;
      expect(outcome).toBe('died');
      expect(await validTokens()).toContain(record.id);
      expect(await tokens.rotateToken(tenant, record.id)).toBeDefined();
      expect(await validTokens()).not.toContain(record.id);
      return true;
    });
  });
});

describeScript('gateway/auth/revoke-token.lua', (script) => {
  const keys = { recordKey: 'sm:tok:x' };

  test('revokes once, and nothing that does not exist', async () => {
    expect(await script.refused(keys, { revokedAt: '5', mac: 'm' })).toBe(0);
    await script.redis.hset(keys.recordKey, { id: 'tok_1', revoked_at: '', mac: 'before' });
    expect(await script.call(keys, { revokedAt: '5', mac: 'm' })).toBe(1);
    expect(await script.redis.hgetall(keys.recordKey)).toEqual({ id: 'tok_1', revoked_at: '5', mac: 'm' });
    expect(await script.refused(keys, { revokedAt: '6', mac: 'n' })).toBe(0);
  });
});
