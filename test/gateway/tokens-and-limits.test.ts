import { status } from '@grpc/grpc-js';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock, systemPorts, systemRandom, systemTimers } from '../../core/actors/live/ports.ts';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import { actorOf } from '../../gateway/api/principal.ts';
import { allScopes, type Scope } from '../../gateway/api/scopes.ts';
import { Authenticator } from '../../gateway/auth/authenticator.ts';
import { hashToken } from '../../gateway/auth/token-format.ts';
import { TokenTampered } from '../../gateway/auth/token-record.ts';
import { approverTokenId, liveTokenLifetimeMs, sandboxTokenId, TokenStore } from '../../gateway/auth/token-store.ts';
import { RedisRateLimits } from '../../gateway/limits/rate-limits.ts';
import { openRedis } from '../../gateway/redis.ts';
import { auth, errorDetails, grpcCall, openGateway, tokenKey } from '../support/gateway.ts';
import { collectLog } from '../support/log.ts';
import { startRedis } from '../support/redis.ts';
import { useDatabase } from '../support/redis-database.ts';

let redis: Redis;
useDatabase((opened) => {
  redis = opened;
});

describe('the token store', () => {
  let nowMs = 1_790_000_000_000;
  let store: TokenStore;
  beforeEach(() => {
    store = new TokenStore(redis, tokenKey, { clock: { nowMs: () => nowMs }, random: systemRandom });
  });

  it('issues tokens that it finds by their hash, and keeps no token', async () => {
    const { token, record } = await store.issueToken({
      tenant: 'acme',
      environment: 'sandbox',
      scopes: ['signing:dkg'],
    });
    expect(record).toMatchObject({ tenant: 'acme', scopes: ['signing:dkg'], expiresAtMs: undefined });
    expect(record.id).toMatch(/^tok_[0-9a-f-]{36}$/);
    expect(await store.lookup(hashToken(token, tokenKey))).toEqual(record);
    for (const key of await redis.keys('*')) {
      const isText = (await redis.type(key)) === 'string';
      const content = JSON.stringify([key, isText ? await redis.get(key) : await redis.hgetall(key)]);
      expect(content).not.toContain(token);
      expect(content).not.toContain(token.slice('svc_sk_test_'.length));
    }
  });

  it('gives live tokens 90 days', async () => {
    const { record } = await store.issueToken({ tenant: 'acme', environment: 'production', scopes: ['signing:dkg'] });
    expect(record.expiresAtMs).toBe(nowMs + liveTokenLifetimeMs);
  });

  it('lists the tokens of a tenant alone, oldest first', async () => {
    const issue = async (tenant: string, name: string) => {
      nowMs += 1_000;
      return (await store.issueToken({ tenant, environment: 'sandbox', scopes: ['signing:dkg'], name })).record;
    };
    const first = await issue('acme', 'first');
    await issue('other', 'theirs');
    const second = await issue('acme', 'second');
    expect(await store.listTokens('acme')).toEqual([first, second]);
    expect(await store.listTokens('unknown')).toEqual([]);
  });

  it('revokes once, and only what belongs to the tenant', async () => {
    const { token, record } = await store.issueToken({
      tenant: 'acme',
      environment: 'sandbox',
      scopes: ['signing:dkg'],
    });
    expect(await store.revokeToken('other', record.id)).toBe(false);
    expect(await store.revokeToken('acme', 'tok_unknown')).toBe(false);
    expect(await store.revokeToken('acme', record.id)).toBe(true);
    const revokedAtMs = nowMs;
    nowMs += 1_000;
    expect(await store.revokeToken('acme', record.id)).toBe(true);
    expect((await store.lookup(hashToken(token, tokenKey)))?.revokedAtMs).toBe(revokedAtMs);
  });

  it('rotates: the same rights under a new token, the old one revoked', async () => {
    const { record } = await store.issueToken({
      tenant: 'acme',
      environment: 'production',
      scopes: ['wallets:read'],
      name: 'ci',
      providerConnectionIds: ['pcn_1'],
    });
    nowMs += 86_400_000;
    const rotated = await store.rotateToken('acme', record.id);
    expect(record.actorId).toBe(record.id);
    expect(rotated?.record).toMatchObject({
      // As long a life as the old one had from its beginning.
      expiresAtMs: nowMs + liveTokenLifetimeMs,
      actorId: record.id,
      name: 'ci',
      scopes: ['wallets:read'],
      environment: 'production',
      providerConnectionIds: ['pcn_1'],
    });
    expect((await store.listTokens('acme')).map((one) => one.revokedAtMs !== undefined).sort()).toEqual([false, true]);
    expect(await store.rotateToken('acme', record.id)).toBeUndefined();
  });

  it('acts as the same person after every rotation, whichever token of the line is shown', async () => {
    const request = { tenant: 'acme', environment: 'sandbox', scopes: ['intents:approve'] } as const;
    const first = await store.issueToken(request);
    const second = await store.rotateToken('acme', first.record.id);
    const third = await store.rotateToken('acme', second!.record.id);
    expect(new Set([first, second!, third!].map(({ record }) => record.id)).size).toBe(3);
    const door = new Authenticator({
      environment: 'sandbox',
      acceptAnyTestToken: false,
      tokenKey,
      store,
      clock: systemClock,
      timers: systemTimers,
    });
    const shown = await door.authenticate(`Bearer ${third!.token}`);
    if (shown instanceof ServiceError) throw shown;
    expect(shown.tokenId).toBe(third!.record.id);
    expect(actorOf(shown)).toBe(first.record.id);
    expect((await store.listTokens('acme')).map(({ actorId }) => actorId)).toEqual(Array(3).fill(first.record.id));
    const other = await store.issueToken(request);
    expect(other.record.actorId).toBe(other.record.id);
  });

  it('rotates no token that has expired', async () => {
    const { record } = await store.issueToken({
      tenant: 'acme',
      environment: 'sandbox',
      scopes: ['signing:dkg'],
      lifetimeMs: 1_000,
    });
    nowMs += 1_000;
    expect(await store.rotateToken('acme', record.id)).toBeUndefined();
    expect(await store.listTokens('acme')).toHaveLength(1);
  });

  it('takes from a provider-scoped token what such a token never has', async () => {
    const { record } = await store.issueToken({
      tenant: 'acme',
      environment: 'sandbox',
      scopes: allScopes,
      providerConnectionIds: ['pcn_1'],
    });
    expect(record.providerConnectionIds).toEqual(['pcn_1']);
    const never = allScopes.filter((scope) => !record.scopes.includes(scope) && !scope.startsWith('signing:'));
    expect(new Set(never)).toEqual(
      new Set<Scope>([
        ...(['providers:write', 'policies:write', 'webhooks:write', 'modules:write', 'vaults:read'] as const),
        ...(['vaults:write', 'intents:approve', 'tenant:freeze', 'tenant:unfreeze', 'sandbox:admin'] as const),
        ...(['changes:read', 'changes:write', 'changes:approve'] as const),
      ]),
    );
    expect(record.scopes.some((scope) => scope.startsWith('signing:'))).toBe(false);
  });

  it.each([
    { tenant: 'a b', scopes: ['signing:dkg' as const] },
    { tenant: '', scopes: ['signing:dkg' as const] },
    { tenant: 'acme', scopes: [] },
    { tenant: 'acme', scopes: ['intents:approve' as const], providerConnectionIds: ['pcn_1'] },
    { tenant: 'acme', scopes: ['signing:dkg' as const], providerConnectionIds: [] },
    { tenant: 'acme', scopes: ['signing:dkg' as const], lifetimeMs: 0 },
  ])('refuses to issue %j', async (request) => {
    await expect(store.issueToken({ environment: 'sandbox', ...request })).rejects.toThrow(RangeError);
    expect(await redis.dbsize()).toBe(0);
  });

  it('registers the sandbox’s own token as often as it is told, and a revocation stays', async () => {
    const token = 'svc_sk_test_0123456789abcdef';
    const first = await store.ensureSandboxToken(token, 'sandbox');
    expect(first).toMatchObject({ id: sandboxTokenId, tenant: 'sandbox', scopes: allScopes });
    nowMs += 1_000;
    expect(await store.ensureSandboxToken(token, 'sandbox')).toEqual(first);
    const approver = `${token}2`;
    expect(await store.ensureSandboxToken(token, 'sandbox', approver)).toEqual(first);
    expect(await store.lookup(hashToken(approver, tokenKey))).toMatchObject({
      id: approverTokenId,
      tenant: 'sandbox',
      name: 'approver',
      scopes: allScopes.filter((scope) => scope !== 'sandbox:admin'),
    });
    await store.revokeToken('sandbox', sandboxTokenId);
    expect((await store.ensureSandboxToken(token, 'sandbox')).revokedAtMs).toBe(nowMs);
    expect(await store.listTokens('sandbox')).toHaveLength(2);
    await expect(store.ensureSandboxToken('svc_sk_live_x', 'sandbox')).rejects.toThrow(RangeError);
  });
});

describe('rate limits', () => {
  const config = { windowS: 10, reads: 5, writes: 4, signing: 3 };
  const share = '/svc.mesh.v1.MpcWalletService/SubmitSignatureShare';

  it('count a tenant’s calls on HTTP and gRPC and of all gateways together', async () => {
    const one = await openGateway({ limits: new RedisRateLimits(redis, config, systemPorts.timers) });
    const two = await openGateway({ limits: new RedisRateLimits(redis, config, systemPorts.timers) });
    const client = await two.grpcClient();
    const post = (headers: Record<string, string> = auth) =>
      one.http.inject({ method: 'POST', url: '/v1/signing/share', payload: {}, headers });

    const first = await post();
    expect(first.statusCode).toBe(200);
    expect(first.headers['ratelimit-policy']).toBe('"signing";q=3;w=10');
    expect(first.headers.ratelimit).toMatch(/^"signing";r=2;t=(10|9)$/);
    const second = await grpcCall(client, share, new Uint8Array());
    expect(second.error).toBeUndefined();
    expect(second.initial.get('ratelimit')[0]).toMatch(/^"signing";r=1;t=/);
    expect(second.initial.get('ratelimit-policy')).toEqual(['"signing";q=3;w=10']);
    expect((await post()).headers.ratelimit).toMatch(/r=0/);

    const refused = await post();
    expect(refused.statusCode).toBe(429);
    expect(refused.json().error.code).toBe('rate_limited');
    expect(refused.headers['ratelimit-policy']).toBe('"signing";q=3;w=10');
    expect(refused.headers.ratelimit).toMatch(/^"signing";r=0;t=\d+$/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers['x-request-id']).toMatch(/^req_/);

    const refusedGrpc = await grpcCall(client, share, new Uint8Array());
    expect(refusedGrpc.error?.code).toBe(status.RESOURCE_EXHAUSTED);
    const details = errorDetails(refusedGrpc.error);
    expect(details.reason).toBe('RATE_LIMITED');
    expect(details.retryS).toBeGreaterThan(0);
    expect(refusedGrpc.initial.get('ratelimit')[0]).toMatch(/r=0/);

    expect((await post({ authorization: 'Bearer svc_sk_test_anothertenant' })).statusCode).toBe(200);
    const keys = await redis.keys('*');
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(key).toMatch(/^sm:\{t:tn_[a-z2-7]{26}\}:rl:signing$/);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('do not count refused tokens, health, or anything when they are off', async () => {
    const gateway = await openGateway({ limits: new RedisRateLimits(redis, config, systemPorts.timers) });
    for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
      const answer = await gateway.http.inject({ method: 'POST', url: '/v1/signing/share', payload: {}, headers });
      expect(answer.statusCode).toBe(401);
      expect(answer.headers.ratelimit).toBeUndefined();
    }
    await gateway.http.inject({ method: 'GET', url: '/v1/health' });
    expect(await redis.dbsize()).toBe(0);
    await gateway.stop();
    const off = await openGateway();
    const answer = await off.http.inject({ method: 'POST', url: '/v1/signing/share', payload: {}, headers: auth });
    expect(answer.headers['ratelimit-policy']).toBeUndefined();
    expect(await redis.dbsize()).toBe(0);
    await off.stop();
  });

  it('let everything pass while Redis is away, say so once, and count again when it is back', async () => {
    let own = await startRedis();
    const { log, lines } = collectLog();
    const connection = openRedis(own.url, log);
    await expect.poll(() => connection.status).toBe('ready');
    const timers = { elapsedMs: () => now };
    let now = 0;
    const limits = new RedisRateLimits(connection, { ...config, signing: 1 }, timers, log);
    expect((await limits.consume('t', 'signing')).allowed).toBe(true);
    await own.stop();
    await expect.poll(() => connection.status).not.toBe('ready');
    for (let call = 0; call < 3; call += 1) {
      expect(await limits.consume('u', 'signing')).toMatchObject({ allowed: true, state: undefined });
    }
    expect(lines.filter((line) => line.message.startsWith('rate limits'))).toHaveLength(1);
    own = await startRedis(own.port);
    await expect.poll(() => connection.status).toBe('ready');
    now = 1_000;
    expect((await limits.consume('u', 'signing')).state).toBe('"signing";r=0;t=10');
    expect((await limits.consume('u', 'signing')).allowed).toBe(false);
    expect(lines.filter((line) => line.message.startsWith('rate limits'))).toHaveLength(2);
    connection.disconnect();
    await own.stop();
  });
});

describe('a token record that something else wrote', () => {
  const nowMs = 1_790_000_000_000;
  const tampered: string[] = [];
  const open = () => {
    const store = new TokenStore(redis, tokenKey, { clock: { nowMs: () => nowMs }, random: systemRandom });
    const { log, lines } = collectLog();
    const given = {
      environment: 'sandbox',
      acceptAnyTestToken: true,
      tokenKey,
      store,
      clock: { nowMs: () => nowMs },
      timers: systemPorts.timers,
    } as const;
    const onTampered = (tenant: string, id: string) => tampered.push(`${tenant} ${id}`);
    const authenticator = new Authenticator({ ...given, log, onTampered });
    return { store, lines, who: (token: string) => authenticator.authenticate(`Bearer ${token}`) };
  };
  const request = {
    tenant: 'acme',
    environment: 'sandbox',
    scopes: ['wallets:read'],
    providerConnectionIds: ['pcn_1'],
  } as const;
  const keyOf = (token: string) => `sm:tok:${hashToken(token, tokenKey)}`;

  it.each<readonly [string, string]>([
    ['id', 'tok_other'],
    ['actor_id', 'tok_other'],
    ['tenant', 'victim'],
    ['environment', 'production'],
    ['scopes', allScopes.join(',')],
    ['name', 'mine'],
    ['expires_at', '9999999999999'],
    ['revoked_at', '5'],
    ['provider_connection_ids', ''],
    ['created_at', '5'],
    ['a_further_field', 'x'],
    ['mac', 'AAAAAAAAAAAAAAAAAAAAAA'],
    ['mac', ''],
  ])('with another %s (%s) is refused, reported, and can be revoked', async (field, value) => {
    const { store, lines, who } = open();
    const { token, record } = await store.issueToken(request);
    tampered.length = 0;
    await redis.hset(keyOf(token), field, value);
    expect(await who(token)).toMatchObject({ kind: 'authenticationFailed' });
    expect(lines).toMatchObject([{ level: 'error', fields: { event: 'token.tampered' } }]);
    expect(tampered).toHaveLength(1);
    await expect(store.rotateToken('acme', record.id)).rejects.toThrow('revoke it');
    expect(await store.revokeToken('acme', record.id)).toBe(true);
    expect(await store.listTokens('acme')).toEqual([]);
  });

  it.each(['id', 'actor_id', 'scopes', 'revoked_at', 'created_at', 'mac'])(
    'without its %s is refused',
    async (field) => {
      const { store, who } = open();
      const { token } = await store.issueToken(request);
      await redis.hdel(keyOf(token), field);
      expect(await who(token)).toMatchObject({ kind: 'authenticationFailed' });
    },
  );

  it('copied to the key of another token, made up, or unrevoked by the index is refused', async () => {
    const { store, who } = open();
    const [strong, weak] = [await store.issueToken({ ...request, scopes: allScopes }), await store.issueToken(request)];
    await redis.hset(keyOf(weak.token), await redis.hgetall(keyOf(strong.token)));
    expect(await who(weak.token)).toMatchObject({ kind: 'authenticationFailed' });
    const madeUp = 'svc_sk_test_madeUpByAnAttacker';
    const fields = { id: 'tok_x', tenant: 'victim', environment: 'sandbox', scopes: allScopes.join(',') };
    await redis.hset(keyOf(madeUp), fields);
    expect(await who(madeUp)).toMatchObject({ kind: 'authenticationFailed' });
    const other = await store.issueToken({ ...request, tenant: 'other' });
    await redis.hset('sm:{t:acme}:tok', strong.record.id, hashToken(other.token, tokenKey));
    expect(await store.revokeToken('acme', strong.record.id)).toBe(false);
    expect(await who(other.token)).toMatchObject({ tenant: 'other' });
  });

  it.each(['scopes', 'issuers', 'unknown'])('of the sandbox’s own token, in its %s, is written anew', async (field) => {
    const { store } = open();
    const token = 'svc_sk_test_0123456789abcdef';
    const first = await store.ensureSandboxToken(token, 'sandbox');
    await redis.hset(keyOf(token), field, 'tok_1');
    await expect(store.lookup(hashToken(token, tokenKey))).rejects.toThrow(TokenTampered);
    await store.ensureSandboxToken(token, 'sandbox');
    expect(await store.lookup(hashToken(token, tokenKey))).toEqual(first);
  });

  it('keeps its MAC right through rotation and revocation', async () => {
    const { store } = open();
    const { record } = await store.issueToken(request);
    const rotated = (await store.rotateToken('acme', record.id))!;
    expect(await store.lookup(hashToken(rotated.token, tokenKey))).toMatchObject({ actorId: record.id });
    expect(await store.revokeToken('acme', rotated.record.id)).toBe(true);
    expect((await store.listTokens('acme')).map(({ revokedAtMs }) => revokedAtMs)).toEqual([nowMs, nowMs]);
  });
});
