/** Lists and the event stream lose no item and repeat none, however the answers are cut and the connections break. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventParser } from '../../../clients/client/server-sent-events.ts';
import { runs } from '../../support/thorough.ts';
import { broken, cut, json, refusal, virtualClient } from './support.ts';

describe('a list', () => {
  test('gives every item once and in order, over lost answers and pages of any size', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 8 });
    const failures = fc.array(fc.constantFrom('ok', 'lost', 'cut', '429'), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sizes, failures, async (pages, fates) => {
        const items = pages.flatMap((size, page) =>
          Array.from({ length: size }, (_, i) => ({ id: `wal_${page}_${i}` })),
        );
        let attempts = 0;
        const fetch = async (input: unknown): Promise<Response> => {
          const url = new URL(String(input));
          expect(url.searchParams.get('status')).toBe('active');
          const page = Number(url.searchParams.get('cursor') ?? 0);
          const start = pages.slice(0, page).reduce((sum, size) => sum + size, 0);
          const isLast = page === pages.length - 1;
          const body = {
            wallets: items.slice(start, start + pages[page]!),
            has_more: !isLast,
            next_cursor: isLast ? null : String(page + 1),
          };
          const fate = fates[attempts++];
          if (fate === 'lost') throw broken();
          if (fate === '429') return refusal(429, 'rate_limited');
          return fate === 'cut' ? cut(body) : json(200, body);
        };
        const { client, settle } = virtualClient(fetch as typeof globalThis.fetch, { attemptsMax: 20 });
        expect(await settle(client.wallets.list({ status: 'active' }).toArray())).toEqual(items);
      }),
      { numRuns: runs(30, 100) },
    );
  });

  test('that leads back to a page it has shown ends with an error', async () => {
    const body = { wallets: [], has_more: true, next_cursor: 'again' };
    const { client } = virtualClient((async () => json(200, body)) as typeof fetch);
    await expect(client.wallets.list().toArray()).rejects.toMatchObject({ code: 'malformed_answer' });
  });

  test('asks for no page that is not needed', async () => {
    let asked = 0;
    const { client } = virtualClient((async () => {
      asked += 1;
      return json(200, { wallets: [{ id: 'a' }, { id: 'b' }], has_more: true, next_cursor: String(asked) });
    }) as typeof fetch);
    expect(await client.wallets.list().toArray(3)).toHaveLength(3);
    expect(asked).toBe(2);
  });
});

/** What a connection to the stream does: sends so many events in pieces of so many bytes, then breaks or ends. */
interface Connection {
  readonly events: number;
  readonly pieceBytes: number;
  readonly end: 'broken' | 'closed' | 'refused' | 'unreachable';
}

const connections = fc.array(
  fc.record<Connection>({
    events: fc.integer({ min: 0, max: 6 }),
    pieceBytes: fc.integer({ min: 1, max: 40 }),
    end: fc.constantFrom('broken', 'closed', 'refused', 'unreachable'),
  }),
  { maxLength: 8 },
);

/** A log of so many events, some of which do not match: the stream names their place alone. */
function streamOf(total: number, script: readonly Connection[]) {
  let connected = 0;
  return async (_: unknown, init: RequestInit = {}): Promise<Response> => {
    const { events, pieceBytes, end } = script[connected++] ?? { events: total, pieceBytes: 64, end: 'closed' };
    if (end === 'unreachable') throw broken();
    if (end === 'refused') return refusal(503, 'provider_unavailable');
    const last = new Headers(init.headers).get('last-event-id');
    const from = last === null ? 0 : Number(last);
    let text = `retry: 1000\n: heartbeat\nid: ${from}\n\n`;
    for (let sequence = from + 1; sequence <= Math.min(total, from + events); sequence += 1) {
      text +=
        sequence % 4 === 0
          ? `: heartbeat\nid: ${sequence}\n\n`
          : `id: ${sequence}\nevent: x\ndata: ${JSON.stringify({ sequence, text: 'é\u2028' })}\n\n`;
    }
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) return end === 'broken' ? controller.error(broken()) : controller.close();
        controller.enqueue(bytes.subarray(at, at + pieceBytes));
        at += pieceBytes;
      },
    });
    return new Response(body, { status: 200 });
  };
}

describe('the event stream', () => {
  test('gives every event once and in order, however connections break', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), connections, async (total, script) => {
        const { client, settle } = virtualClient(streamOf(total, script) as typeof fetch);
        const wanted = Array.from({ length: total }, (_, i) => i + 1).filter((sequence) => sequence % 4 !== 0);
        const got: number[] = [];
        const read = async (): Promise<void> => {
          if (wanted.length === 0) return;
          for await (const event of client.events.follow({ afterSequence: 0 })) {
            got.push(event.sequence);
            if (got.length === wanted.length) return;
          }
        };
        await settle(read());
        expect(got).toEqual(wanted);
      }),
      { numRuns: runs(30, 100) },
    );
  });

  test('tells a place only when its event is done, so that a reader that died resumes with it', async () => {
    const { client, settle } = virtualClient(streamOf(3, []) as typeof fetch);
    const done: number[] = [];
    const read = async (): Promise<void> => {
      const events = client.events.follow({ afterSequence: 0, onPlace: (place) => done.push(place) });
      for await (const event of events) {
        expect(done).not.toContain(event.sequence);
        if (event.sequence === 3) return;
      }
    };
    await settle(read());
    expect(done).toEqual([0, 1, 2]);
  });

  test('connects again when a connection falls silent', async () => {
    let connected = 0;
    const silent = new Response(new ReadableStream<Uint8Array>({ start: () => {} }));
    const next = streamOf(1, []);
    const fetch = (input: unknown, init: RequestInit): Promise<Response> => {
      connected += 1;
      if (connected > 1) return next(input, init);
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => init.signal!.addEventListener('abort', () => controller.error(init.signal!.reason)),
      });
      return Promise.resolve(new Response(body, silent));
    };
    const { client, time, settle } = virtualClient(fetch as typeof globalThis.fetch);
    const events = client.events.follow({ afterSequence: 0 })[Symbol.asyncIterator]();
    expect((await settle(events.next())).value).toMatchObject({ sequence: 1 });
    expect(time.nowMs()).toBeGreaterThanOrEqual(45_000);
    await events.return?.();
    expect(time.pending).toBe(0);
  });

  test('whose place is no longer kept ends with events_lost, and one without a scope with its refusal', async () => {
    const body = {
      error: {
        code: 'invalid_request',
        message: 'kept from 10',
        details: [{ field: 'last-event-id', issue: 'too_small', message: 'takes 9 or more' }],
      },
    };
    const lost = virtualClient((async () => json(400, body)) as typeof fetch).client;
    const next = (client: typeof lost) => client.events.follow({ afterSequence: 1 })[Symbol.asyncIterator]().next();
    await expect(next(lost)).rejects.toMatchObject({
      code: 'events_lost',
      message: expect.stringContaining('takes 9 or more'),
    });
    const refused = virtualClient((async () => refusal(403, 'insufficient_scope')) as typeof fetch).client;
    await expect(next(refused)).rejects.toMatchObject({ code: 'insufficient_scope' });
  });

  test('is parsed the same however it is cut', () => {
    const line = fc.constantFrom(
      'id: 1',
      'data: a',
      'data:b',
      'data',
      ': comment',
      'event: x',
      '',
      'id: 2',
      'other: y',
    );
    const text = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(120), { maxLength: 6 }), (lines, cuts) => {
        const whole = lines.map((parts) => parts.join('')).join('');
        const places = [0, ...cuts.map((at) => Math.min(at, whole.length)).sort((a, b) => a - b), whole.length];
        const parser = new EventParser();
        const inPieces = places.slice(1).flatMap((end, index) => [...parser.push(whole.slice(places[index], end))]);
        expect(inPieces).toEqual([...new EventParser().push(whole)]);
      }),
    );
  });
});
