/** The event stream connection by connection: where each begins, which events count, and when it gives up. */
import { getEventListeners } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FollowOptions } from '../../../clients/client/index.ts';
import { EventParser } from '../../../clients/client/server-sent-events.ts';
import { broken, virtualClient } from './support.ts';

/** Each connection sends its text and breaks; an undefined one is never made. */
function connections(texts: readonly (string | undefined)[]) {
  const asked: (string | null)[] = [];
  const signals: AbortSignal[] = [];
  const fetch = async (_: unknown, { headers, signal }: { headers: Record<string, string>; signal: AbortSignal }) => {
    asked.push(headers['last-event-id'] ?? null);
    signals.push(signal);
    const text = texts[asked.length - 1];
    if (text === undefined) throw broken();
    const bytes = new TextEncoder().encode(text);
    let isSent = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (isSent) return controller.error(broken());
        isSent = true;
        controller.enqueue(bytes);
      },
    });
    return new Response(body, { status: 200 });
  };
  return { ...virtualClient(fetch as never), asked, signals };
}

const event = (sequence: number): string => `id: ${sequence}\ndata: ${JSON.stringify({ sequence })}\n\n`;
const place = (sequence: number): string => `: heartbeat\nid: ${sequence}\n\n`;

/** The sequences of so many events, and the error that ended the stream, if one did. */
async function read({ client }: ReturnType<typeof connections>, count: number, options: FollowOptions) {
  const got: number[] = [];
  try {
    for await (const { sequence } of client.events.follow(options)) {
      got.push(sequence);
      if (got.length === count) break;
    }
  } catch (error) {
    return { got, error };
  }
  return { got, error: undefined };
}

describe('a connection', () => {
  test('ends with its caller’s signal, also when fetch does not pass the abort on to the body', async () => {
    const bytes = new TextEncoder().encode(event(1));
    const fetch = async () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(bytes) }));
    const { client, settle, time } = virtualClient(fetch as never);
    const scope = new AbortController();
    const events = client.events.follow({ signal: scope.signal })[Symbol.asyncIterator]();
    await settle(events.next());
    const next = events.next();
    scope.abort('no more');
    await expect(next).rejects.toBe('no more');
    expect(time.pending).toBe(0);
  });

  test('begins where the one before ended, and gives no event twice', async () => {
    const stream = connections([
      `${place(4) + event(5) + event(6)}: heartbeat\nid: x\n\n`,
      event(5) + event(6) + place(3) + event(7),
    ]);
    const { signal } = new AbortController();
    const { got } = await stream.settle(read(stream, 3, { signal }));
    expect(got).toEqual([5, 6, 7]);
    expect(stream.asked).toEqual([null, '6']);
    // The caller has stopped: the stream's requests end, and nothing listens to its signal.
    expect(stream.signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect([getEventListeners(signal, 'abort').length, stream.time.pending]).toEqual([0, 0]);
  });

  test('begins at the place that the caller names', async () => {
    const stream = connections([event(41)]);
    expect((await stream.settle(read(stream, 1, { afterSequence: 40 }))).got).toEqual([41]);
    expect(stream.asked).toEqual(['40']);
    for (const afterSequence of [-1, 1.5, Number.NaN]) {
      const { error } = await read(stream, 1, { afterSequence });
      expect(error).toMatchObject({ code: 'invalid_option', field: 'afterSequence' });
    }
    expect(stream.asked).toHaveLength(1);
  });

  test('without data counts as an attempt; one with data begins the count anew', async () => {
    const failing = connections([]);
    const { error } = await failing.settle(read(failing, 1, { attemptsMax: 2 }));
    expect(error).toMatchObject({ code: 'connection_failed' });
    expect(failing.asked).toHaveLength(2);
    const stream = connections([undefined, event(1), undefined, event(2)]);
    expect((await stream.settle(read(stream, 2, { attemptsMax: 3 }))).got).toEqual([1, 2]);
  });

  test('that a browser may have refused says which setting of the server lets its page in', async () => {
    const failing = connections([]);
    vi.stubGlobal('location', { origin: 'https://app.example' });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { error } = await failing.settle(read(failing, 1, { attemptsMax: 1 }));
    expect((error as Error).message).toContain(
      "SIGNMESH_CORS_ORIGINS may lack this page's origin, https://app.example",
    );
  });

  test('that speaks in time is not silent', async () => {
    let sent = 0;
    const fetch = async (_: unknown, { signal }: { signal: AbortSignal }): Promise<Response> => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          signal.addEventListener('abort', () => controller.error(signal.reason));
          const speak = (): void => {
            sent += 1;
            controller.enqueue(new TextEncoder().encode(sent < 4 ? place(sent) : event(9)));
            if (sent < 4) time.start(40_000, speak);
          };
          time.start(40_000, speak);
        },
      });
      connected += 1;
      return new Response(body, { status: 200 });
    };
    let connected = 0;
    const { client, time, settle } = virtualClient(fetch as never);
    const events = client.events.follow({ afterSequence: 0 })[Symbol.asyncIterator]();
    expect((await settle(events.next())).value).toEqual({ sequence: 9 });
    expect(connected).toBe(1);
    await events.return?.();
  });
});

test('an event without an end is refused before it fills the memory', () => {
  const parser = new EventParser();
  const piece = 'x'.repeat(1024 * 1024);
  const push = () => Array.from({ length: 5 }, () => [...parser.push(piece)]);
  expect(push).toThrow(RangeError);
});
