/** The caller's signal and deadline: they end calls, waits and streams, and leave no request, timer or listener behind. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { IntentEndedError, WaitTimedOutError } from '../../../clients/client/index.ts';
import { until } from '../../support/until.ts';
import { json, virtualClient } from './support.ts';

const reason = new Error('the caller has gone');
const intentAt = { id: 'txi_1', wallet_id: 'wal_1' };

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

/** Never answers; rejects as `fetch` does when its signal aborts. */
function unanswered(requests: AbortSignal[]): typeof globalThis.fetch {
  return ((_: unknown, { signal }: { signal: AbortSignal }) => {
    requests.push(signal);
    return new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  }) as never;
}

describe('an aborted call', () => {
  test('ends its request, rejects with the reason, and is not repeated', async () => {
    const requests: AbortSignal[] = [];
    const { client, time } = virtualClient(unanswered(requests));
    const caller = new AbortController();
    const ended = client.wallets.get('wal_1', { signal: caller.signal }).catch((error) => error);
    await until(() => requests.length === 1, 'the request is sent');
    caller.abort(reason);
    expect(await ended).toBe(reason);
    expect(requests.map(({ aborted }) => aborted)).toEqual([true]);
    expect([time.pending, listeners(caller.signal)]).toEqual([0, 0]);
  });

  test('sends nothing while its token is not ready, and ends all the same; so does one whose deadline passes', async () => {
    const requests: AbortSignal[] = [];
    const token = () => new Promise<string>(() => {});
    const { client, time, settle } = virtualClient(unanswered(requests), { token });
    const caller = new AbortController();
    const ended = client.wallets.get('wal_1', { signal: caller.signal }).catch((error) => error);
    await time.advance(10);
    caller.abort(reason);
    expect(await ended).toBe(reason);
    const late = settle(client.wallets.get('wal_1', { deadlineMs: 200 }));
    await expect(late).rejects.toMatchObject({ code: 'deadline_exceeded', effect: 'none' });
    expect([requests.length, time.pending, listeners(caller.signal)]).toEqual([0, 0, 0]);
  });

  test('whose token cannot be had rejects with the error of its function, and is not repeated', async () => {
    let asked = 0;
    const token = async (): Promise<string> => {
      asked += 1;
      throw reason;
    };
    const { client, time } = virtualClient(unanswered([]), { token });
    await expect(client.wallets.get('wal_1')).rejects.toBe(reason);
    expect([asked, time.pending]).toEqual([1, 0]);
  });

  test('leaves no listener on a signal that many calls and pauses share', async () => {
    let sent = 0;
    const fetch = async () => json(sent++ % 2 === 0 ? 503 : 200, { id: 'wal_1' });
    const { client, settle, time } = virtualClient(fetch as never);
    const { signal } = new AbortController();
    for (let call = 0; call < 3; call += 1) await settle(client.wallets.get('wal_1', { signal }));
    expect([sent, listeners(signal), time.pending]).toEqual([6, 0, 0]);
  });
});

/** A stream that says its place, then the events; and an intent that is read with this status. */
function intentService(readAs: string, events: readonly string[] = []) {
  const streams: AbortSignal[] = [];
  const fetch = async (input: unknown, { signal }: { signal: AbortSignal }): Promise<Response> => {
    if (!String(input).includes('/v1/events/stream')) return json(200, { ...intentAt, status: readAs });
    streams.push(signal);
    const blocks = events.map((status, at) => {
      const data = { sequence: 8 + at, data: { object: { ...intentAt, status } } };
      return `id: ${8 + at}\ndata: ${JSON.stringify(data)}\n\n`;
    });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`id: 7\n\n${blocks.join('')}`));
        signal.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return new Response(body, { status: 200 });
  };
  return { ...virtualClient(fetch as never), streams };
}

describe('waiting for an intent by events', () => {
  test.each<[string, string, readonly string[]]>([
    ['is over with the event that brings it there', 'signing', ['broadcasting', 'completed']],
    ['is over at once for an intent that is there already', 'completed', []],
  ])('%s', async (_, readAs, events) => {
    const { client, settle, time, streams } = intentService(readAs, events);
    const { signal } = new AbortController();
    const intent = await settle(client.waitFor(intentAt, { by: 'events', signal }));
    expect(intent.status).toBe('completed');
    expect(streams.map(({ aborted }) => aborted)).toEqual([true]);
    await settle(Promise.resolve());
    expect([time.pending, listeners(signal)]).toEqual([0, 0]);
  });

  test('ends with the intent that can no longer get there', async () => {
    const { client, settle } = intentService('signing', ['failed']);
    const ended = settle(client.waitFor(intentAt, { by: 'events' }));
    await expect(ended).rejects.toBeInstanceOf(IntentEndedError);
  });

  test('ends at its deadline, and with the caller’s signal', async () => {
    const late = intentService('signing');
    const timedOut = late.settle(late.client.waitFor(intentAt, { by: 'events', deadlineMs: 300 }));
    await expect(timedOut).rejects.toBeInstanceOf(WaitTimedOutError);
    expect(late.time.nowMs()).toBeLessThan(400);
    const { client, time, streams } = intentService('signing');
    const caller = new AbortController();
    const ended = client.waitFor(intentAt, { by: 'events', signal: caller.signal }).catch((error) => error);
    await time.advance(50);
    caller.abort(reason);
    expect(await ended).toBe(reason);
    expect(streams.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
