import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, systemRandom, systemTimers } from '../../core/actors/live/ports.ts';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import { allScopes, sandboxScopes } from '../../gateway/api/scopes.ts';
import { signingMethods } from '../../gateway/api/signing-methods.ts';
import { Admission, refusalAfterMs } from '../../gateway/auth/admission.ts';
import { Authenticator, freshMs } from '../../gateway/auth/authenticator.ts';
import { onlyAuthorization, readBearer } from '../../gateway/auth/bearer.ts';
import { hashToken, newToken, tenantOfHash, tokenEnvironment } from '../../gateway/auth/token-format.ts';
import { recordFromFields, recordToFields } from '../../gateway/auth/token-record.ts';
import { grpcCall, openGateway, type TestGateway, testToken, tokenKey } from '../support/gateway.ts';
import { VirtualTimers } from '../support/virtual-timers.ts';

const liveToken = newToken('production', systemRandom);
const issuedTestToken = newToken('sandbox', systemRandom);

describe('the form of a token', () => {
  it('is a prefix, 30 characters and 6 of checksum', () => {
    expect(issuedTestToken).toMatch(/^svc_sk_test_[0-9A-Za-z]{36}$/);
    expect(liveToken).toMatch(/^svc_sk_live_[0-9A-Za-z]{36}$/);
    expect(tokenEnvironment(issuedTestToken)).toBe('sandbox');
    expect(tokenEnvironment(liveToken)).toBe('production');
  });

  it('refuses a live token with any one character changed', () => {
    for (let at = 12; at < liveToken.length; at += 1) {
      const other = liveToken[at] === 'A' ? 'B' : 'A';
      expect(tokenEnvironment(liveToken.slice(0, at) + other + liveToken.slice(at + 1))).toBeUndefined();
    }
  });

  it.each([
    '',
    'svc_sk_test_',
    'svc_sk_test_elevenchars',
    'svc_sk_test_with-hyphens-in',
    'svc_sk_test_ümlautümlaut',
    'SVC_SK_TEST_abcdefghijkl',
    'svc_sk_prod_abcdefghijkl',
    'svc_sk_live_abcdefghijkl',
    `svc_sk_test_${'a'.repeat(245)}`,
  ])('refuses %j', (token) => {
    expect(tokenEnvironment(token)).toBeUndefined();
  });

  it.each(['svc_sk_test_twelvechars1', `svc_sk_test_${'a'.repeat(244)}`])(
    'takes the made-up test token %j',
    (token) => {
      expect(tokenEnvironment(token)).toBe('sandbox');
    },
  );

  it('hashes under the key', () => {
    expect(hashToken('a', tokenKey)).toMatch(/^[0-9a-f]{64}$/);
    expect(hashToken('a', tokenKey)).not.toBe(hashToken('a', new Uint8Array(32)));
  });

  it('makes a tenant of the first 130 bits of the hash', () => {
    expect(tenantOfHash('00'.repeat(32))).toBe(`tn_${'a'.repeat(26)}`);
    expect(tenantOfHash('ff'.repeat(32))).toBe(`tn_${'7'.repeat(26)}`);
    expect(tenantOfHash(`08${'00'.repeat(31)}`)).toBe(`tn_b${'a'.repeat(25)}`);
  });
});

describe('the authorization header', () => {
  it.each([`Bearer ${testToken}`, `bearer ${testToken}`, `BEARER   ${testToken}`])('is read from %j', (header) => {
    expect(readBearer(header)).toBe(testToken);
  });

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    testToken,
    `Basic ${testToken}`,
    `Bearer${testToken}`,
    ` Bearer ${testToken}`,
    `Bearer ${testToken} `,
    `Bearer ${testToken}, Bearer ${testToken}`,
    `Bearer ${testToken} ${testToken}`,
    `Bearer "${testToken}"`,
    `Bearer\t${testToken}`,
    `Bearer ${'a'.repeat(300)}`,
  ])('is not read from %j', (header) => {
    expect(readBearer(header)).toBeUndefined();
  });

  it('counts as none when it is there twice', () => {
    expect(onlyAuthorization(['Host', 'x', 'AuThorization', 'a'])).toBe('a');
    expect(onlyAuthorization(['Authorization', 'a', 'authorization', 'a'])).toBeUndefined();
    expect(onlyAuthorization(['Host', 'x'])).toBeUndefined();
  });
});

describe('a token record', () => {
  it('survives its way through Redis', () => {
    const record = {
      id: 'tok_2',
      actorId: 'tok_1',
      issuers: [],
      tenant: 't',
      environment: 'production' as const,
      scopes: allScopes,
      name: 'a, b',
      expiresAtMs: 5,
      revokedAtMs: undefined,
      providerConnectionIds: ['pcn_1', 'pcn_2'],
      createdAtMs: 4,
    };
    expect(recordFromFields(recordToFields(record))).toEqual(record);
  });

  it('is refused rather than revived when it is damaged', () => {
    expect(recordFromFields({})).toBeUndefined();
    expect(recordFromFields({ id: 'tok_1', tenant: 't', environment: 'moon' })).toBeUndefined();
    const damaged = recordFromFields({
      id: 'tok_1',
      tenant: 't',
      environment: 'sandbox',
      scopes: 'x,signing:dkg',
      revoked_at: '?',
    });
    expect(damaged).toMatchObject({ scopes: ['signing:dkg'], revokedAtMs: 0 });
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.string()), (fields) => void recordFromFields(fields)));
  });
});

describe('who is let in', () => {
  let gateway: TestGateway;
  const open = async (options: Parameters<typeof openGateway>[0] = {}): Promise<void> => {
    gateway = await openGateway(options);
  };
  beforeEach(() => open());
  afterEach(() => gateway.stop());

  const call = async (token: string | undefined, url = '/v1/signing/share') => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await gateway.http.inject({ method: 'POST', url, payload: {}, headers });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      error: answer.json().error,
      tenant: gateway.coordinator.sent.at(-1)?.tenant,
    };
  };

  it('a made-up test token opens a tenant of its own, always the same', async () => {
    const first = await call(testToken);
    expect(first.status).toBe(200);
    expect(first.tenant).toBe(tenantOfHash(hashToken(testToken, tokenKey)));
    expect((await call(testToken)).tenant).toBe(first.tenant);
    expect((await call(`${testToken}2`)).tenant).not.toBe(first.tenant);
  });

  it('a made-up test token has every scope but sandbox:admin', () => {
    expect(allScopes.filter((scope) => !sandboxScopes.includes(scope))).toEqual(['sandbox:admin']);
  });

  it('an issued token acts for its tenant', async () => {
    gateway.tokens.put(issuedTestToken, { tenant: 'tn_acme' });
    expect(await call(issuedTestToken)).toMatchObject({ status: 200, tenant: 'tn_acme' });
  });

  it('every refusal is the same 401', async () => {
    gateway.tokens.put('svc_sk_test_expired000000', { expiresAtMs: Date.now() - 1 });
    gateway.tokens.put('svc_sk_test_revoked000000', { revokedAtMs: 1 });
    gateway.tokens.put('svc_sk_test_otherworld000', { environment: 'production' });
    const refused = [
      undefined,
      'nonsense',
      'svc_sk_test_short',
      liveToken,
      'svc_sk_test_expired000000',
      'svc_sk_test_revoked000000',
      'svc_sk_test_otherworld000',
    ];
    for (const token of refused) {
      const { status, error, headers } = await call(token);
      expect([status, error.code, error.message], token).toEqual([
        401,
        'authentication_failed',
        'the access token is missing, expired or invalid',
      ]);
      expect(headers['www-authenticate']).toBe('Bearer realm="signmesh"');
      expect(headers['x-request-id']).toBe(error.request_id);
    }
  });

  it('every refusal is the same to the last header, on HTTP and gRPC', async () => {
    await gateway.stop();
    await open({ acceptAnyTestToken: false });
    gateway.tokens.put('svc_sk_test_expired000000', { expiresAtMs: Date.now() - 1 });
    gateway.tokens.put('svc_sk_test_revoked000000', { revokedAtMs: 1 });
    const path = signingMethods[0]!.grpcPath;
    const seen = new Set<string>();
    const client = await gateway.grpcClient();
    for (const token of [
      'nonsense',
      'svc_sk_test_short',
      liveToken,
      'svc_sk_test_unknown000000',
      'svc_sk_test_expired000000',
      'svc_sk_test_revoked000000',
    ]) {
      const { statusCode, headers, body } = await gateway.http.inject({
        method: 'POST',
        url: '/v1/signing/share',
        payload: {},
        headers: { authorization: `Bearer ${token}`, 'x-request-id': 'req-00000000' },
      });
      const { date: _, ...fixed } = headers;
      const { error } = await grpcCall(client, path, new Uint8Array(), {
        authorization: `Bearer ${token}`,
        'x-request-id': 'req-00000000',
      });
      const metadata = Object.entries(error!.metadata.toJSON()).filter(([key]) => key !== 'date');
      seen.add(JSON.stringify([statusCode, fixed, body, error!.code, error!.details, metadata]));
    }
    expect([...seen]).toHaveLength(1);
  });

  it('no refusal is given before its time, and admitted callers do not wait for it', async () => {
    const authenticator = new Authenticator({
      environment: 'sandbox',
      acceptAnyTestToken: false,
      tokenKey,
      store: gateway.tokens,
      clock: systemClock,
      timers: systemTimers,
    });
    gateway.tokens.put('svc_sk_test_valid00000000', {});
    gateway.tokens.put('svc_sk_test_revoked000000', { revokedAtMs: 1 });
    const timers = new VirtualTimers();
    const admission = new Admission(authenticator, undefined, timers);
    /** When it was answered, in milliseconds of the timers; undefined: not until then. */
    const admit = async (token: string, untilMs: number): Promise<number | undefined> => {
      const beganMs = timers.elapsedMs();
      let answeredMs: number | undefined;
      const scope = 'signing:dkg' as const;
      admission.admit(`Bearer ${token}`, { scope, limitClass: 'signing' }, () => {
        answeredMs = timers.elapsedMs() - beganMs;
      });
      await new Promise((resolve) => setImmediate(resolve));
      await timers.advance(untilMs);
      return answeredMs;
    };
    // Twice: from the store, and from what is remembered of it.
    for (let times = 0; times < 2; times += 1) {
      for (const token of ['nonsense', liveToken, 'svc_sk_test_unknown000000', 'svc_sk_test_revoked000000']) {
        expect([token, await admit(token, refusalAfterMs - 1)]).toEqual([token, undefined]);
        await timers.advance(1);
        expect([token, await admit(token, refusalAfterMs)]).toEqual([token, refusalAfterMs]);
      }
      expect(await admit('svc_sk_test_valid00000000', 0)).toBe(0);
    }
  });

  it('an answer that is remembered serves for 5 s, and no longer than the token is valid', async () => {
    let nowMs = 1_000_000;
    let machineMs = 0;
    const options = { environment: 'sandbox', acceptAnyTestToken: false, tokenKey, store: gateway.tokens } as const;
    const authenticator = new Authenticator({
      ...options,
      clock: { nowMs: () => nowMs },
      timers: { elapsedMs: () => machineMs },
    });
    const bearer = (name: string) => `Bearer svc_sk_test_${name}0000000000`;
    gateway.tokens.put(bearer('ends').slice(7), { expiresAtMs: nowMs + freshMs });
    gateway.tokens.put(bearer('lasts').slice(7), {});
    gateway.tokens.put(bearer('revoked').slice(7), { revokedAtMs: 1 });
    expect(authenticator.cached(bearer('lasts'))).toBeUndefined();
    const readAtMs = nowMs;
    for (const name of ['lasts', 'ends', 'revoked']) await authenticator.authenticate(bearer(name));
    const cached = (atMs: number) => {
      machineMs += atMs - nowMs;
      nowMs = atMs;
      return ['lasts', 'ends', 'revoked', 'unknown'].filter((name) => authenticator.cached(bearer(name)) !== undefined);
    };
    expect([cached(readAtMs), cached(readAtMs + freshMs - 1)]).toEqual([
      ['lasts', 'ends'],
      ['lasts', 'ends'],
    ]);
    // The clock of a sandbox, which goes back at the end of a fault, keeps no answer fresh.
    nowMs = readAtMs - 90_000_000;
    expect(authenticator.cached(bearer('lasts'))).toBeDefined();
    machineMs += 1;
    expect(authenticator.cached(bearer('lasts'))).toBeUndefined();
    nowMs = readAtMs + freshMs;
    expect(cached(readAtMs + freshMs)).toEqual([]);
    gateway.tokens.put(bearer('short').slice(7), { expiresAtMs: nowMs + 10 });
    expect(await authenticator.authenticate(bearer('short'))).not.toBeInstanceOf(ServiceError);
    nowMs += 9;
    expect(authenticator.cached(bearer('short'))).toBeDefined();
    expect(authenticator.authenticate(bearer('short'))).not.toBeInstanceOf(ServiceError);
    nowMs += 1;
    expect(authenticator.cached(bearer('short'))).toBeUndefined();
    expect(authenticator.authenticate(bearer('short'))).toMatchObject({ kind: 'authenticationFailed' });
  });

  it('a body is not looked at before the token', async () => {
    const answer = await gateway.http.inject({
      method: 'POST',
      url: '/v1/signing/share',
      payload: '{',
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer.statusCode).toBe(401);
  });

  it.each(signingMethods.map((method) => [method.requirement.scope, method.httpPath] as const))(
    '%s is needed for POST %s, and enough',
    async (scope, path) => {
      const others = allScopes.filter((other) => other !== scope);
      gateway.tokens.putScoped('svc_sk_test_allothers0000', others);
      gateway.tokens.putScoped('svc_sk_test_justthisone00', [scope]);
      const refused = await call('svc_sk_test_allothers0000', path);
      expect([refused.status, refused.error.code]).toEqual([403, 'insufficient_scope']);
      expect(refused.headers['www-authenticate']).toContain(`scope="${scope}"`);
      expect((await call('svc_sk_test_justthisone00', path)).status).toBe(200);
    },
  );

  it('refuses unknown tokens when the operator turns made-up tokens off', async () => {
    await gateway.stop();
    await open({ acceptAnyTestToken: false });
    gateway.tokens.put(issuedTestToken);
    expect((await call(testToken)).status).toBe(401);
    expect((await call(issuedTestToken)).status).toBe(200);
  });

  it('in production live tokens that were issued, and no test token', async () => {
    await gateway.stop();
    await open({ environment: 'production' });
    gateway.tokens.put(liveToken, { environment: 'production' });
    gateway.tokens.put(issuedTestToken, { environment: 'sandbox' });
    expect((await call(liveToken)).status).toBe(200);
    expect((await call(issuedTestToken)).status).toBe(401);
    expect((await call(testToken)).status).toBe(401);
    expect((await call(newToken('production', systemRandom))).status).toBe(401);
  });

  describe('the cache', () => {
    it('asks the store once in 5 s for a token, also when calls come at once', async () => {
      await Promise.all([1, 2, 3].map(() => call(testToken)));
      await call(testToken);
      expect(gateway.tokens.lookups).toBe(1);
      gateway.clock.offsetMs = 5_000;
      await call(testToken);
      expect(gateway.tokens.lookups).toBe(2);
    });

    it('lets a revocation be felt within 5 s', async () => {
      gateway.tokens.put(issuedTestToken);
      expect((await call(issuedTestToken)).status).toBe(200);
      gateway.tokens.put(issuedTestToken, { revokedAtMs: 1 });
      gateway.clock.offsetMs = 5_000;
      expect((await call(issuedTestToken)).status).toBe(401);
    });

    it('refuses a token from the moment it expires, remembered or not', async () => {
      gateway.clock.heldMs = Date.now();
      gateway.tokens.put(issuedTestToken, { expiresAtMs: gateway.clock.heldMs + 2_000 });
      expect((await call(issuedTestToken)).status).toBe(200);
      gateway.clock.offsetMs = 2_001;
      expect((await call(issuedTestToken)).status).toBe(401);
      expect(gateway.tokens.lookups).toBe(1);
    });

    it('keeps known tokens working while the store is away; unknown ones get 503; it says so once', async () => {
      gateway.tokens.put(issuedTestToken);
      await call(issuedTestToken);
      gateway.tokens.failing = true;
      gateway.clock.offsetMs = 60_000;
      expect((await call(issuedTestToken)).status).toBe(200);
      expect((await call(issuedTestToken)).status).toBe(200);
      const unknown = await call(testToken);
      expect([unknown.status, unknown.error.code]).toEqual([503, 'provider_unavailable']);
      expect(gateway.lines.filter((line) => line.message.includes('token store'))).toHaveLength(1);
      gateway.clock.offsetMs = 11 * 60_000;
      expect((await call(issuedTestToken)).status).toBe(503);
      gateway.tokens.failing = false;
      expect((await call(testToken)).status).toBe(200);
      expect(gateway.lines.at(-1)).toMatchObject({ level: 'info', message: 'the token store answers again' });
    });
  });

  it('logs no token, whatever happens', async () => {
    gateway.tokens.failing = true;
    await call(testToken);
    await call(liveToken);
    expect(JSON.stringify(gateway.lines)).not.toContain(testToken);
    expect(JSON.stringify(gateway.lines)).not.toContain(liveToken);
  });
});
