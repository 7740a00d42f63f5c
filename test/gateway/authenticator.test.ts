/** Who a token makes its bearer, for how long an answer of the store serves, and what a refusal waits for: in virtual time. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import type { Principal } from '../../gateway/api/principal.ts';
import { allScopes, sandboxScopes } from '../../gateway/api/scopes.ts';
import { Admission, type Admitted } from '../../gateway/auth/admission.ts';
import { Authenticator, type AuthenticatorOptions } from '../../gateway/auth/authenticator.ts';
import { hashToken, newToken, tenantOfHash } from '../../gateway/auth/token-format.ts';
import type { TokenRecord } from '../../gateway/auth/token-record.ts';
import { LoadControl } from '../../gateway/limits/load-control.ts';
import type { RateLimits } from '../../gateway/limits/rate-limits.ts';
import { VirtualTimers } from '../support/virtual-timers.ts';

const tokenKey = new Uint8Array(32).fill(5);
const sandboxToken = 'svc_sk_test_unit00000000';
const liveToken = newToken('production', (length) => new Uint8Array(length).fill(9));

const record: TokenRecord = {
  ...{
    id: 'tok_2',
    actorId: 'tok_1',
    issuers: [],
    tenant: 'acme',
    environment: 'sandbox',
    scopes: allScopes,
    name: 'n',
  },
  ...{ expiresAtMs: undefined, revokedAtMs: undefined, providerConnectionIds: undefined, createdAtMs: 0 },
};

/** Promises that wait for nothing but each other have settled. */
const settled = () => new Promise(setImmediate);

type Answer = TokenRecord | undefined;

/** `answers`: what the store says, by token; a promise answers late, an error is thrown. */
function open(answers: Record<string, Answer | Error | Promise<Answer>>, more: Partial<AuthenticatorOptions> = {}) {
  const timers = new VirtualTimers();
  const asked: string[] = [];
  const opened: string[] = [];
  const store = {
    opened: async (tenant: string) => {
      opened.push(tenant);
      throw new Error('Redis takes no writes');
    },
    lookup: async (hash: string) => {
      const token = Object.keys(answers).find((each) => hashToken(each, tokenKey) === hash) ?? '';
      asked.push(token);
      const found = await answers[token];
      if (found instanceof Error) throw found;
      return found;
    },
  };
  const given = {
    environment: 'sandbox',
    acceptAnyTestToken: false,
    tokenKey,
    store,
    clock: timers,
    timers,
    ...more,
  } as const;
  const authenticator = new Authenticator(given);
  /** The principal, or the kind of the refusal. */
  const who = async (token: string): Promise<Principal | string> => {
    const found = await authenticator.authenticate(`Bearer ${token}`);
    return found instanceof ServiceError ? found.kind : found;
  };
  return { authenticator, timers, asked, opened, answers, who };
}

describe('a token', () => {
  test('acts for its record: its tenant, its id and its actor, with its scopes', async () => {
    const { who } = open({ [sandboxToken]: { ...record, scopes: ['wallets:read'] } });
    expect(await who(sandboxToken)).toEqual({
      ...{ tenant: 'acme', environment: 'sandbox', tokenId: 'tok_2', actorId: 'tok_1' },
      ...{ scopes: new Set(['wallets:read']), providerConnectionIds: undefined },
      token: { name: 'n', createdAtMs: 0, expiresAtMs: undefined, issuers: [] },
    });
  });

  test('of provider connections never has what such a token may not have, whatever its record says', async () => {
    const { who } = open({ [sandboxToken]: { ...record, providerConnectionIds: ['pcn_1'] } });
    const principal = (await who(sandboxToken)) as Principal;
    expect(allScopes.filter((scope) => !principal.scopes.has(scope))).toEqual([
      ...[
        'providers:write',
        'webhooks:write',
        'modules:write',
        'changes:read',
        'changes:write',
        'policies:write',
        'vaults:read',
        'vaults:write',
      ],
      ...[
        'intents:approve',
        'changes:approve',
        'tenant:freeze',
        'tenant:unfreeze',
        'signing:read',
        'signing:dkg',
        'signing:initiate',
        'signing:share',
        'signing:resume',
      ],
      'sandbox:admin',
    ]);
    expect(principal.providerConnectionIds).toEqual(['pcn_1']);
  });

  test.each<[string, Partial<TokenRecord> | undefined, boolean]>([
    ['with a good record is let in', {}, true],
    ['is refused once it is revoked', { revokedAtMs: 1 }, false],
    ['whose record is of the other environment is refused', { environment: 'production' }, false],
    ['is let in until it expires', { expiresAtMs: 1 }, true],
    ['is refused from the moment it expires', { expiresAtMs: 0 }, false],
    ['without a record is refused', undefined, false],
  ])('%s', async (_what, change, isLetIn) => {
    const { who } = open({ [sandboxToken]: change && { ...record, ...change } });
    expect(typeof (await who(sandboxToken)) === 'object').toBe(isLetIn);
  });

  test('that was never issued opens a tenant of its own, in a sandbox that allows it and nowhere else', async () => {
    const anyToken = { acceptAnyTestToken: true };
    expect(await open({}, anyToken).who(sandboxToken)).toEqual({
      ...{ tenant: tenantOfHash(hashToken(sandboxToken, tokenKey)), environment: 'sandbox', tokenId: '', actorId: '' },
      ...{ scopes: new Set(sandboxScopes), providerConnectionIds: undefined },
    });
    const { who, opened } = open({}, anyToken);
    for (const token of [sandboxToken, sandboxToken, liveToken]) await who(token);
    expect(opened).toEqual([tenantOfHash(hashToken(sandboxToken, tokenKey))]);
    const production = open({}, { ...anyToken, environment: 'production' });
    expect([await production.who(liveToken), await production.who(sandboxToken)]).toEqual([
      ...['authenticationFailed', 'authenticationFailed'],
    ]);
    // A token of the other environment is refused without a look at the store.
    expect(production.asked).toEqual(['']);
    expect(await open({}, anyToken).who(liveToken)).toBe('authenticationFailed');
  });

  test('that is reserved gets 503 until it is registered, and asks for that', async () => {
    let calls = 0;
    const reserved = { hashes: new Set([hashToken(sandboxToken, tokenKey)]), register: () => (calls += 1) };
    const { who, answers } = open({}, { acceptAnyTestToken: true, reserved });
    expect([await who(sandboxToken), calls]).toEqual(['unavailable', 1]);
    answers[sandboxToken] = record;
    expect([await who(sandboxToken), calls]).toEqual([expect.objectContaining({ tenant: 'acme' }), 1]);
  });
});

describe('an answer of the store', () => {
  test('serves for 5 s, and while the store is away for ten minutes', async () => {
    const { who, timers, asked, answers } = open({ [sandboxToken]: record });
    await who(sandboxToken);
    await timers.advance(4_999);
    await who(sandboxToken);
    expect(asked).toHaveLength(1);
    await timers.advance(1);
    await who(sandboxToken);
    expect(asked).toHaveLength(2);
    answers[sandboxToken] = new Error('away');
    await timers.advance(599_999);
    expect(await who(sandboxToken)).toMatchObject({ tenant: 'acme' });
    await timers.advance(1);
    expect(await who(sandboxToken)).toBe('unavailable');
  });

  test('is asked for once by callers that come together, and again when it failed', async () => {
    const { authenticator, asked, answers } = open({ [sandboxToken]: new Error('away') });
    const bearer = `Bearer ${sandboxToken}`;
    const all = await Promise.all([1, 2, 3].map(() => authenticator.authenticate(bearer)));
    expect([asked.length, all.map((each) => (each as ServiceError).kind)]).toEqual([1, Array(3).fill('unavailable')]);
    answers[sandboxToken] = record;
    expect([await authenticator.authenticate(bearer), asked.length]).toMatchObject([{ tenant: 'acme' }, 2]);
  });

  test('about the store before it was replaced is not remembered', async () => {
    let answer: (found: Answer) => void = () => undefined;
    const late = new Promise<Answer>((resolve) => {
      answer = resolve;
    });
    const { authenticator, who, answers, asked } = open({ [sandboxToken]: late });
    const first = who(sandboxToken);
    authenticator.clearCache();
    answer(record);
    expect(await first).toMatchObject({ tenant: 'acme' });
    expect(authenticator.cached(`Bearer ${sandboxToken}`)).toBeUndefined();
    answers[sandboxToken] = undefined;
    expect(await who(sandboxToken)).toBe('authenticationFailed');
    authenticator.clearCache();
    await who(sandboxToken);
    expect(asked).toHaveLength(3);
  });

  test('is forgotten for the least recently used token first', async () => {
    const tokens = ['a', 'b', 'c'].map((name) => `svc_sk_test_${name}00000000000`);
    const given = Object.fromEntries(tokens.map((token) => [token, record]));
    const { who, asked } = open(given, { cachedTokensMax: 2 });
    const [a, b, c] = tokens as [string, string, string];
    for (const token of [a, b, a, c, a, b]) await who(token);
    expect(asked).toEqual([a, b, c, b]);
  });
});

describe('admission', () => {
  const requirement = { scope: 'wallets:read', limitClass: 'reads' } as const;
  const verdict = { policy: 'p', state: 's', resetS: 7 };

  function gate(found: Answer | Error, limits?: RateLimits) {
    const opened = open({ [sandboxToken]: found });
    const admission = new Admission(opened.authenticator, limits, opened.timers);
    const done: Admitted[] = [];
    const ask = (token = sandboxToken, more: object = {}) =>
      admission.admit(`Bearer ${token}`, { ...requirement, ...more }, (result) => done.push(result));
    return { ...opened, admission, ask, done };
  }

  test.each([
    ['no token', 'nonsense', record],
    ['an unknown one', sandboxToken, undefined],
    ['a revoked one', sandboxToken, { ...record, revokedAtMs: 1 }],
  ])('%s is refused after 10 ms, remembered or not', async (_what, token, found) => {
    const { ask, done, timers } = gate(found);
    for (const answered of [0, 1]) {
      ask(token);
      await timers.advance(9);
      await settled();
      expect(done).toHaveLength(answered);
      await timers.advance(1);
      expect(done).toHaveLength(answered + 1);
    }
    expect(done[0]).toMatchObject({ admitted: false, error: { kind: 'authenticationFailed' }, principal: undefined });
    expect(timers.pending).toBe(0);
  });

  test('a good token waits for nothing, and leaves no timer', async () => {
    const { ask, done, timers } = gate(record);
    ask();
    await settled();
    ask();
    expect(done).toHaveLength(2);
    expect(timers.pending).toBe(0);
    expect(done[0]).toMatchObject({ admitted: true, principal: { tenant: 'acme' }, rate: undefined });
  });

  test('names the scope that is lacking, and counts no call of such a caller', async () => {
    const consumed: string[] = [];
    const limits: RateLimits = {
      consume: async (tenant, limitClass) => {
        consumed.push(`${tenant} ${limitClass}`);
        return { ...verdict, allowed: consumed.length < 3 };
      },
    };
    const { ask, done } = gate({ ...record, scopes: ['wallets:read'] }, limits);
    const asks = [{ scope: 'wallets:write' }, { alsoScope: 'preview:policies' }, {}, { limitClass: 'none' }, {}, {}];
    for (const more of asks) {
      ask(sandboxToken, more);
      await settled();
    }
    const lacks = (scope: string) => ({
      admitted: false,
      error: {
        ...{ kind: 'insufficientScope', message: `the access token lacks the scope ${scope}` },
        headers: { 'www-authenticate': `Bearer realm="signmesh", error="insufficient_scope", scope="${scope}"` },
      },
    });
    expect(done.slice(0, 2)).toMatchObject([lacks('wallets:write'), lacks('preview:policies')]);
    expect(done.slice(2)).toMatchObject([
      { admitted: true, rate: { ...verdict, allowed: true } },
      { admitted: true, rate: undefined },
      { admitted: true },
      {
        admitted: false,
        error: {
          kind: 'rateLimited',
          message:
            'too many calls of the class reads: repeat in 7 s (SIGNMESH_RATE_LIMIT=off turns the limits of a sandbox off)',
          retryAfterS: 7,
        },
      },
    ]);
    expect(consumed).toEqual(Array(3).fill('acme reads'));
  });

  test('an overload is told at once to a caller whose token is known, valid and has the scope', async () => {
    const { authenticator, timers, answers, who } = open({ [sandboxToken]: { ...record, scopes: ['wallets:read'] } });
    const load = new LoadControl({ timers });
    load.heed('reads', () => 'much waits');
    const admission = new Admission(authenticator, undefined, timers, load);
    const told = (more: object = {}) =>
      admission.refusedForLoad(() => `Bearer ${sandboxToken}`, { ...requirement, ...more })?.error.kind;
    expect(told()).toBeUndefined();
    await who(sandboxToken);
    expect(told()).toBe('overloaded');
    expect(told({ scope: 'wallets:write', loadClass: 'reads' })).toBeUndefined();
    expect(told({ alsoScope: 'preview:policies' })).toBeUndefined();
    await timers.advance(4_999);
    expect(told()).toBe('overloaded');
    await timers.advance(1);
    expect(told()).toBeUndefined();
    answers[sandboxToken] = { ...record, expiresAtMs: timers.nowMs() + 1_000 };
    await who(sandboxToken);
    await timers.advance(999);
    expect(told()).toBe('overloaded');
    await timers.advance(1);
    expect(told()).toBeUndefined();
  });

  test('a caller of a long answer stays while its token and scope do, and while the store is away', async () => {
    const { admission, answers, timers } = gate(record);
    const still = async () => {
      await timers.advance(5_000);
      return admission.stillAdmits(`Bearer ${sandboxToken}`, requirement);
    };
    expect(await still()).toBe(true);
    answers[sandboxToken] = { ...record, scopes: ['wallets:write'] };
    expect(await still()).toBe(false);
    answers[sandboxToken] = { ...record, revokedAtMs: 1 };
    expect(await still()).toBe(false);
    answers[sandboxToken] = new Error('away');
    await timers.advance(600_000);
    expect(await still()).toBe(true);
  });
});
