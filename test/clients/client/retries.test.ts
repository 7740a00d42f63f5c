/**
 * The retry law, against a service that keeps idempotency keys as docs/wallet-api.md says and a network that loses requests,
 * loses answers, cuts bodies and refuses for load, in any order.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Client, NoAnswerError, RateLimitedError, UnavailableError } from '../../../clients/client/index.ts';
import { pauseMs, readRetryAfter } from '../../../clients/client/retry.ts';
import { runs } from '../../support/thorough.ts';
import { broken, cut, json, refusal, virtualClient } from './support.ts';

/** How one attempt ends. */
const fates = [
  'served',
  'requestLost',
  'answerLost',
  'bodyCut',
  'effectThen503',
  '429',
  '503',
  '502',
  'conflict',
] as const;
type Fate = (typeof fates)[number];

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly key: string | null;
  readonly body: string | undefined;
}

/** Each fate is that of one attempt; after the last every attempt is served. */
function service(script: readonly Fate[]) {
  const sent: Sent[] = [];
  const answers = new Map<string, object>();
  const effects: string[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const key = new Headers(init.headers).get('idempotency-key');
    const method = init.method ?? 'GET';
    sent.push({ method, url: String(input), key, body: init.body as string | undefined });
    const fate = script[sent.length - 1] ?? 'served';
    if (fate === 'requestLost') throw broken();
    if (fate === '429') return refusal(429, 'rate_limited', undefined, { 'retry-after': '2' });
    if (fate === '503' || fate === '502') return refusal(Number(fate), 'provider_unavailable');
    if (fate === 'conflict') return refusal(409, 'conflict', 'version_conflict');
    const known = key === null ? undefined : answers.get(key);
    const answer = known ?? { id: `txi_${effects.length}` };
    if (known === undefined) effects.push(String(init.body));
    if (key !== null) answers.set(key, answer);
    if (fate === 'answerLost') throw broken();
    if (fate === 'effectThen503') return refusal(503, 'provider_unavailable');
    return fate === 'bodyCut' ? cut(answer) : json(201, answer);
  };
  return { fetch: fetch as typeof globalThis.fetch, sent, effects };
}

const order = { asset: 'ETH', amount: '1', destination: { address: '0x1' } };
const scripts = fc.array(fc.constantFrom(...fates), { maxLength: 8 });

describe('a call with an idempotency key', () => {
  test('has one effect and gets its answer, whatever the network does', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, fc.double({ min: 0, max: 0.999, noNaN: true }), async (script, random) => {
        const { fetch, sent, effects } = service(script);
        const { client, settle } = virtualClient(fetch, {}, () => random);
        const intent = await settle(client.intents.create('wal_1', order));
        expect(effects).toHaveLength(1);
        expect(intent.id).toBe('txi_0');
        expect(new Set(sent.map((each) => JSON.stringify(each))).size).toBe(1);
        expect(sent[0]!.key).toBe('uuid-1');
      }),
      { numRuns: runs(50, 150) },
    );
  });

  test('stops at its attempts and at its deadline, with the last error, the key and at most one effect', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...fates.filter((fate) => fate !== 'served')), { minLength: 12, maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 100, max: 20_000 }),
        async (script, attemptsMax, deadlineMs) => {
          const { fetch, sent, effects } = service(script);
          const { client, time, settle } = virtualClient(fetch);
          const options = { attemptsMax, deadlineMs, idempotencyKey: 'mine' };
          const error = await settle(client.intents.create('wal_1', order, options)).catch((reason) => reason);
          expect(error).toMatchObject({
            idempotencyKey: 'mine',
            attempts: sent.length,
            operation: 'createTransactionIntent',
          });
          expect(sent.length).toBeLessThanOrEqual(attemptsMax);
          expect(time.nowMs()).toBeLessThanOrEqual(deadlineMs + 50);
          expect(effects.length).toBeLessThanOrEqual(1);
          expect(time.pending).toBe(0);
        },
      ),
      { numRuns: runs(30, 80) },
    );
  });

  test('in the body is the key of every attempt', async () => {
    const { fetch, sent } = service(['answerLost']);
    const { client, settle } = virtualClient(fetch);
    await settle(client.intents.create('wal_1', { ...order, idempotency_key: 'in-body' }));
    expect(sent.map(({ key }) => key)).toEqual(['in-body', 'in-body']);
  });
});

describe('a call without a key', () => {
  test.each<[Fate, number]>([
    ['requestLost', 1],
    ['answerLost', 1],
    ['effectThen503', 1],
    ['503', 1],
    ['502', 1],
    ['429', 2],
    ['conflict', 2],
  ])('that changes something is sent after %s in all %i times', async (fate, times) => {
    const { fetch, sent, effects } = service([fate]);
    const { client, settle } = virtualClient(fetch);
    const result = await settle(client.wallets.update('wal_1', { name: 'new' })).catch((reason) => reason);
    expect(sent).toHaveLength(times);
    expect(effects.length).toBeLessThanOrEqual(1);
    if (times === 1)
      expect(result).toMatchObject({ effect: 'unknown', message: expect.stringMatching(/wal|unknown|503|502/) });
  });

  test('that never left the machine is sent again', async () => {
    let attempts = 0;
    const { client, settle } = virtualClient((async () => {
      attempts += 1;
      if (attempts === 1) throw broken('ECONNREFUSED');
      return new Response(null, { status: 204 });
    }) as typeof fetch);
    await settle(client.webhooks.delete('whk_1'));
    expect(attempts).toBe(2);
  });

  test('of the signing API repeats under its key', async () => {
    const { fetch, sent } = service(['answerLost']);
    const { client, settle } = virtualClient(fetch);
    await settle(client.signing.initiateDkg({ threshold: 2 }));
    expect(sent.map(({ body }) => JSON.parse(body!))).toEqual(Array.from({ length: 2 }, () => ({ threshold: 2 })));
  });
});

describe('between attempts', () => {
  test('a refusal for load waits at least as long as Retry-After says', async () => {
    const { fetch, sent } = service(['429', '429', '429']);
    const { client, time, settle } = virtualClient(fetch);
    await settle(client.wallets.get('wal_1'));
    expect(sent).toHaveLength(4);
    expect(time.nowMs()).toBeGreaterThanOrEqual(6_000);
  });

  test('a wait that would pass the deadline ends the call at once with the refusal', async () => {
    const { fetch } = service(['429']);
    const { client, time, settle } = virtualClient(fetch);
    const error = await settle(client.wallets.get('wal_1', { deadlineMs: 1_000 })).catch((reason) => reason);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterMs: 2_000, effect: 'none' });
    expect(time.nowMs()).toBeLessThan(100);
  });

  test('the caller’s signal ends the wait with its reason, and no attempt follows', async () => {
    const { fetch, sent } = service(Array.from({ length: 9 }, () => '429' as const));
    const { client, time } = virtualClient(fetch);
    const scope = new AbortController();
    const ended = client.wallets.get('wal_1', { signal: scope.signal }).catch((reason) => reason);
    await time.advance(1_000);
    scope.abort(new Error('enough'));
    expect(await ended).toMatchObject({ message: 'enough' });
    expect(sent).toHaveLength(1);
    expect(time.pending).toBe(0);
  });

  test('an attempt without an answer is given up, and a read is sent again', async () => {
    let attempts = 0;
    const fetch = (_: unknown, { signal }: RequestInit): Promise<Response> => {
      attempts += 1;
      if (attempts > 1) return Promise.resolve(json(200, { id: 'wal_1' }));
      return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason as Error)));
    };
    const { client, time, settle } = virtualClient(fetch as typeof globalThis.fetch, { attemptTimeoutMs: 1_000 });
    expect(await settle(client.wallets.get('wal_1'))).toMatchObject({ id: 'wal_1' });
    expect(time.nowMs()).toBeLessThan(1_300);
  });

  test('pauses grow, stay within bounds, and never undercut the service', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.option(fc.integer({ min: 0, max: 60_000 }), { nil: undefined }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempts, retryAfterMs, random) => {
          const pause = pauseMs(attempts, retryAfterMs, random);
          expect(pause).toBeGreaterThanOrEqual(Math.max(50, retryAfterMs ?? 0));
          expect(pause).toBeLessThanOrEqual((retryAfterMs ?? 0) + 5_000);
        },
      ),
    );
  });

  test('Retry-After is seconds or a date, and anything else says nothing', () => {
    expect(readRetryAfter('7', 0)).toBe(7_000);
    expect(readRetryAfter('Sun, 22 Nov 2026 10:00:05 GMT', Date.parse('2026-11-22T10:00:00Z'))).toBe(5_000);
    expect(readRetryAfter('Sun, 22 Nov 2026 10:00:05 GMT', Date.parse('2026-11-22T10:00:09Z'))).toBe(0);
    for (const long of ['1000000', '1000000000000', '9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT']) {
      expect(readRetryAfter(long, 0)).toBe(24 * 3_600_000);
    }
    expect([null, '', '-1', 'soon'].map((header) => readRetryAfter(header, 0))).not.toContainEqual(expect.any(Number));
  });
});

describe('an answer that is not the service’s', () => {
  test.each([
    [502, '<html>Bad Gateway</html>', UnavailableError],
    [200, '{"id": "wal', NoAnswerError],
  ])('%i %s', async (status, text, kind) => {
    const { client, settle } = virtualClient((async () => new Response(text, { status })) as typeof fetch);
    await expect(settle(client.wallets.get('wal_1', { attemptsMax: 2 }))).rejects.toBeInstanceOf(kind);
  });

  test('a redirect is not followed: the token goes nowhere else', async () => {
    let redirect: unknown;
    const { client } = virtualClient((async (_: unknown, init: RequestInit) => {
      redirect = init.redirect;
      return json(200, {});
    }) as typeof fetch);
    await client.wallets.get('wal_1');
    expect(redirect).toBe('error');
  });
});

describe('what cannot be right', () => {
  const client: Client = virtualClient(service([]).fetch).client;
  test.each([
    ['', 'id'],
    ['.', 'id'],
    ['..', 'id'],
  ])('an id %j is refused before anything is sent', async (id, field) => {
    await expect(client.wallets.get(id)).rejects.toMatchObject({ code: 'invalid_option', field });
  });

  test.each(['ftp://gateway', 'http://user:pass@gateway', 'http://gateway?x=1', 'gateway'])(
    'the base URL %s is refused without being quoted',
    (baseUrl) => {
      const make = () => virtualClient(service([]).fetch, { baseUrl });
      expect(make).toThrow(/^baseUrl takes/);
      expect(make).not.toThrow(/pass@/);
    },
  );

  test('a token with a line break is refused without being quoted', () => {
    expect(() => virtualClient(service([]).fetch, { token: 'svc_sk\r\nx: y' })).toThrow(/^token takes/);
  });

  test('ids are escaped', async () => {
    const { fetch, sent } = service([]);
    await virtualClient(fetch).client.wallets.get('a/b?c#d');
    expect(sent[0]!.url).toBe('http://gateway.test/base/v1/wallets/a%2Fb%3Fc%23d');
  });
});
