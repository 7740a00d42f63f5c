/** What the console knows from the stream, how it reads on, and what it says of a connection that breaks. */

import { afterEach, describe, expect, test } from 'vitest';
import type {
  SandboxFault,
  SandboxFigures,
  SandboxRequestLine,
  SandboxStreamBatch,
  SandboxStreamHello,
  SandboxStreamSession,
} from '../../../clients/client/index.ts';
import { type Connection, makeStore } from '../../../clients/console/browser/shared/store.ts';
import { followStream } from '../../../clients/console/browser/shared/stream.ts';
import { until } from '../../support/until.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const session = (id: string, more: Partial<SandboxStreamSession> = {}): SandboxStreamSession => ({
  ...{ tenant: 'tn_1', session: id, kind: 'signing', cluster: 1, state: 'open', reason_code: null },
  ...{ attempt: 1, nodes: [], culprits: [], faults: [], frames: 1, began_ms: 1, last_ms: 2, retained: 'all' },
  ...more,
});
const hello = (next: string, more: Partial<SandboxStreamHello> = {}): SandboxStreamHello => ({
  ...{
    kind: 'hello',
    world: 'embedded',
    version: '1',
    began_at: null,
    clusters: [],
    processes: [],
    faults: [],
    sessions: [],
  },
  ...{ requests: [], scenario: null, missing: [], lost: false, next },
  ...more,
});
const batch = (next: string, more: Partial<SandboxStreamBatch> = {}): SandboxStreamBatch => ({
  ...{ kind: 'batch', events: [], positions: [], left_out: {}, lost: false, next },
  ...more,
});

describe('the store', () => {
  test('holds each request once, in order, the last ones alone', () => {
    const store = makeStore(() => 0);
    const lines = (...ids: readonly number[]) => ids.map((id) => ({ id: String(id) }) as SandboxRequestLine);
    store.greet(hello('1', { requests: lines(8, 9) }));
    store.take(batch('2', { requests: lines(10) }));
    store.addRequests(lines(10, 9, 7));
    expect(store.requests.map(({ id }) => id)).toEqual(['7', '8', '9', '10']);
    store.take(batch('3', { requests: lines(...Array.from({ length: 5_000 }, (_, index) => index + 11)) }));
    expect([store.requests.length, store.requests.at(-1)?.id]).toEqual([3_000, '5010']);
  });

  test('notes with each point the faults that were active or triggered since the one before', () => {
    const store = makeStore(() => 0);
    const fault = (id: string, state: SandboxFault['state'], count: number) =>
      ({ id, state, trigger_count: count, fault: { fault: 'crash' } }) as SandboxFault;
    const measured = { over_ms: 1, p50_ms: null, p99_ms: null, frames: 0 } as unknown as SandboxFigures;
    for (const faults of [
      [fault('a', 'armed', 0), fault('b', 'holding', 1)],
      [fault('a', 'over', 1), fault('b', 'over', 1)],
      [fault('a', 'over', 1)],
    ])
      store.take(batch('1', { faults, figures: measured }));
    expect(store.history.map(({ faults }) => faults)).toEqual([['crash (b)'], ['crash (a)'], []]);
  });

  test('holds the newest of everything', () => {
    const store = makeStore(() => 0);
    store.greet(hello('5', { sessions: [session('a')] }));
    const event = { kind: 'process', at_ms: 7, process: 'node/1', what: 'up', text: '' } as const;
    const seen = store.take(
      batch('7', {
        ...{ events: [event], positions: [6], left_out: { frames: 3, sessions: 1 } },
        sessions: [session('a', { state: 'completed' }), session('b')],
        figures: {
          over_ms: 500,
          frames: 20,
          bytes: 0,
          began: 0,
          completed: 0,
          failed: 0,
          p50_ms: null,
          p99_ms: null,
          requests: null,
          load: null,
          processes: [],
        },
      }),
    );
    expect(seen).toEqual([{ event, position: 6 }]);
    expect([...store.sessions.values()].map(({ session: id, state }) => `${id} ${state}`)).toEqual([
      'a completed',
      'b open',
    ]);
    expect([store.next, store.leftOut, store.lost, store.rates, store.newestMs]).toEqual(['7', 4, false, [40], 7]);
  });

  test('says that something was lost, until it is dismissed', () => {
    const store = makeStore(() => 0);
    store.greet(hello('1'));
    store.take(batch('2', { lost: true }));
    store.take(batch('3'));
    expect(store.lost).toBe(true);
    store.lost = false;
    store.greet(hello('4', { lost: true }));
    expect(store.lost).toBe(true);
  });

  test('holds 2,000 sessions, and drops the oldest', () => {
    const store = makeStore(() => 0);
    store.greet(hello('1', { sessions: Array.from({ length: 2_500 }, (_, index) => session(`s${index}`)) }));
    expect([store.sessions.size, store.sessions.has('tn_1/s499'), store.sessions.has('tn_1/s500')]).toEqual([
      2_000,
      false,
      true,
    ]);
  });

  test('forgets the sessions of a service that has started again', () => {
    const store = makeStore(() => 0);
    store.greet(hello('1', { began_at: '2026-01-01T00:00:00.000Z', sessions: [session('a')] }));
    store.greet(hello('1', { began_at: '2026-01-01T00:00:00.000Z', sessions: [session('b')] }));
    expect(store.sessions.size).toBe(2);
    store.greet(hello('1', { began_at: '2026-01-02T00:00:00.000Z', sessions: [session('c')] }));
    expect([...store.sessions.keys()]).toEqual(['tn_1/c']);
  });
});

describe('the stream', () => {
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  /** A service that answers each request with the next of these texts, or refuses it. */
  function follow(answers: readonly (string | { status: number; message: string })[]) {
    const timers = new VirtualTimers();
    const asked: { url: string; authorization: string }[] = [];
    const states: Connection[] = [];
    const store = makeStore(() => 0);
    const cancels = new Map<number, () => void>();
    const fetch = async (url: unknown, init?: RequestInit) => {
      asked.push({ url: String(url), authorization: new Headers(init?.headers).get('authorization') ?? '' });
      const answer = answers[asked.length - 1];
      // The last answer stays open.
      if (answer === undefined) return new Promise<Response>(() => undefined);
      if (typeof answer === 'string') return new Response(answer);
      return new Response(JSON.stringify({ error: { message: answer.message } }), { status: answer.status });
    };
    const setTimeout = (task: () => void, ms: number) => {
      const id = cancels.size + 1;
      cancels.set(id, timers.start(ms, task));
      return id;
    };
    stops.push(
      followStream(
        { fetch: fetch as typeof globalThis.fetch, setTimeout, clearTimeout: (id) => cancels.get(id)?.() },
        {
          token: () => 'svc_sk_test_x',
          next: () => store.next,
          greet: (message) => store.greet(message),
          take: (message) => store.take(message),
          connected: (state) => states.push(state),
        },
      ),
    );
    return { timers, asked, states, store };
  }
  const told = (...messages: readonly (SandboxStreamHello | SandboxStreamBatch)[]) =>
    messages.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');

  test('is read on from its position, with the token in the header alone', async () => {
    const { timers, asked, states, store } = follow([told(hello('5'), batch('a b&c')), told(hello('9'))]);
    await until(() => states.length === 2, 'the states of the connection');
    expect(states.map(({ state }) => state)).toEqual(['live', 'broken']);
    await timers.advance(250);
    await until(() => states.length === 4, 'the states of the connection');
    expect(asked).toEqual([
      { url: '/v1/sandbox/stream', authorization: 'Bearer svc_sk_test_x' },
      { url: '/v1/sandbox/stream?after=a%20b%26c', authorization: 'Bearer svc_sk_test_x' },
    ]);
    expect(store.next).toBe('9');
  });

  test('waits longer while the service does not answer, and begins afresh once it does', async () => {
    const down = { status: 503, message: 'the supervisor is not connected' };
    const { timers, asked, states } = follow([down, down, down, told(hello('1')), down]);
    for (const [index, ms] of [250, 500, 1_000, 250].entries()) {
      await until(() => states.at(-1)?.state === 'broken' && asked.length === index + 1, 'the next attempt');
      await timers.advance(ms - 1);
      expect(asked.length).toBe(index + 1);
      await timers.advance(1);
    }
    expect(states[0]).toEqual({ state: 'broken', why: 'the supervisor is not connected' });
  });

  test('ends when it is told to, also between two connections', async () => {
    const { timers, asked, states } = follow([told(hello('1'))]);
    await until(() => states.at(-1)?.state === 'broken', 'the end of the first connection');
    stops.pop()!();
    await timers.advance(60_000);
    expect(asked.length).toBe(1);
  });

  test('ends with a token that is refused, and says whether another one helps', async () => {
    const { states } = follow([{ status: 401, message: 'the token is unknown' }]);
    await until(() => states.length === 1, 'the states of the connection');
    expect(states).toEqual([{ state: 'refused', why: 'the token is unknown', needsToken: true }]);
    const production = follow([{ status: 404, message: 'no such path' }]);
    await until(() => production.states.length === 1, 'the refusal');
    expect(production.states[0]).toMatchObject({ state: 'refused', needsToken: false });
  });
});
