/** One attempt: what it sends and to whom, how many there are, and what a caller gets of the answer. */
import { describe, expect, test } from 'vitest';
import { json, refusal, virtualClient } from './support.ts';

type Init = RequestInit & { readonly headers: Record<string, string> };

/** Answers with this status and body; keeps what was sent. */
function answering(status: number, body: object = {}, issue?: string) {
  const sent: Init[] = [];
  const fetch = async (_: unknown, init: Init): Promise<Response> => {
    sent.push(init);
    return status < 400 ? json(status, body) : refusal(status, 'conflict', issue);
  };
  return { fetch: fetch as unknown as typeof globalThis.fetch, sent };
}

const never = (() => new Promise(() => {})) as unknown as typeof globalThis.fetch;
/** Rejects when its signal aborts, as `fetch` does. */
const unanswered = ((_: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))) as never;

describe('an attempt', () => {
  test('carries token, key, request id and trace', async () => {
    const { fetch, sent } = answering(201);
    const { client } = virtualClient(fetch, { token: async () => 'svc_sk_fresh' });
    const options = { idempotencyKey: 'k-1', requestId: 'req_12345678', traceparent: `00-${'a'.repeat(32)}-b-01` };
    await client.webhooks.create({ url: 'https://example.com', events: ['*'] }, options);
    expect(sent[0]!.headers).toMatchObject({
      authorization: 'Bearer svc_sk_fresh',
      'idempotency-key': 'k-1',
      'x-request-id': options.requestId,
      traceparent: options.traceparent,
    });
  });

  test('with a token that is none is not made, and the token not quoted', async () => {
    const { fetch, sent } = answering(200);
    const { client } = virtualClient(fetch, { token: () => 'svc_sk\r\nx: y' });
    const error = await client.wallets.get('wal_1').catch((reason) => reason);
    expect(error).toMatchObject({ code: 'invalid_option', field: 'token' });
    expect(error.message).not.toContain('svc_sk\r');
    expect(sent).toEqual([]);
  });

  test('of the event stream follows no redirect either', async () => {
    const { fetch, sent } = answering(403);
    const events = virtualClient(fetch).client.events.follow()[Symbol.asyncIterator]();
    await events.next().catch(() => undefined);
    expect(sent.map(({ redirect }) => redirect)).toEqual(['error']);
  });

  test('a base URL with a password alone is refused', () => {
    expect(() => virtualClient(never, { baseUrl: 'http://:secret@gateway' })).toThrow(/^baseUrl takes/);
  });
});

describe('attempts', () => {
  test.each([1, 3])('are at most %i where that is the limit', async (attemptsMax) => {
    const { fetch, sent } = answering(503);
    const { client, settle } = virtualClient(fetch, { attemptsMax });
    await expect(settle(client.wallets.get('wal_1'))).rejects.toMatchObject({ attempts: attemptsMax });
    expect(sent).toHaveLength(attemptsMax);
  });

  test('a conflict that a repeat meets again is not repeated', async () => {
    const { fetch, sent } = answering(409, {}, 'state_conflict');
    const { client, settle } = virtualClient(fetch);
    await expect(settle(client.webhooks.ping('whk_1'))).rejects.toMatchObject({ code: 'conflict' });
    expect(sent).toHaveLength(1);
  });

  test('without an answer end as late, by their own time or by the deadline of the call', async () => {
    const own = virtualClient(unanswered, { attemptTimeoutMs: 100, attemptsMax: 1 });
    await expect(own.settle(own.client.wallets.get('wal_1'))).rejects.toMatchObject({ code: 'attempt_timed_out' });
    const all = virtualClient(unanswered, { attemptTimeoutMs: 100 });
    const ended = all.settle(all.client.wallets.update('wal_1', { name: 'new' }, { deadlineMs: 50 }));
    await expect(ended).rejects.toMatchObject({ code: 'deadline_exceeded', effect: 'unknown' });
  });

  test('that only read have no effect, however they fail', async () => {
    const late = virtualClient(unanswered, { attemptTimeoutMs: 100, attemptsMax: 1 });
    await expect(late.settle(late.client.wallets.get('wal_1'))).rejects.toMatchObject({ effect: 'none' });
    const broken = virtualClient((async () => Promise.reject(new TypeError('fetch failed'))) as typeof fetch, {
      attemptsMax: 1,
    });
    await expect(broken.settle(broken.client.wallets.list().toArray())).rejects.toMatchObject({ effect: 'none' });
    for (const status of [500, 502, 503, 504]) {
      const failing = virtualClient(answering(status, {}, 'internal').fetch, { attemptsMax: 1 });
      await expect(failing.settle(failing.client.wallets.get('wal_1'))).rejects.toMatchObject({ effect: 'none' });
      const order = { asset: 'ETH', amount: '1', destination: { address: 'to' } };
      const preview = failing.settle(failing.client.intents.dryRun('wal_1', order));
      await expect(preview).rejects.toMatchObject({ effect: 'none' });
    }
  });
});

test('an answer with the status 503 is one where the operation says so', async () => {
  const fetch = (async () => json(503, { status: 'unavailable' })) as unknown as typeof globalThis.fetch;
  expect(await virtualClient(fetch).client.service.health()).toEqual({ status: 'unavailable' });
});

test('a list of no items asks for none', async () => {
  const { fetch, sent } = answering(200, { wallets: [{ id: 'wal_1' }], has_more: false, next_cursor: null });
  const list = virtualClient(fetch).client.wallets.list();
  expect([await list.toArray(0), sent.length, await list.toArray(1)]).toEqual([[], 0, [{ id: 'wal_1' }]]);
});
