/** One direction of a link: what waits keeps its order and its time, what is lost stays lost, and a full socket holds its source up. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { Pipe } from '../../../scenarios/injection/pipe.ts';

/** A pipe between two sockets that only pretend. */
function piped() {
  const sent: string[] = [];
  const done: (() => void)[] = [];
  const flow: string[] = [];
  const from = { pause: () => flow.push('pause'), resume: () => flow.push('resume') };
  const to = {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: (bytes: Uint8Array, _: object, sentIt: () => void) => {
      sent.push(Buffer.from(bytes).toString());
      done.push(sentIt);
    },
  };
  const pipe = new Pipe(from as unknown as WebSocket, to as unknown as WebSocket);
  const put = (text: string, afterMs?: number, unordered?: boolean) => pipe.put(Buffer.from(text), afterMs, unordered);
  return { pipe, put, sent, to, flow, done };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('a message', () => {
  test('leaves at once, or at its time, and never before one that was put earlier', () => {
    const { put, sent } = piped();
    put('a');
    put('b', 100);
    put('c');
    put('d', 20);
    expect(sent).toEqual(['a']);
    vi.advanceTimersByTime(99);
    expect(sent).toEqual(['a']);
    vi.advanceTimersByTime(1);
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
  });

  test('may be overtaken where it may arrive out of order', () => {
    const { put, sent } = piped();
    put('late', 100, true);
    put('now');
    expect(sent).toEqual(['now']);
    vi.advanceTimersByTime(100);
    expect(sent).toEqual(['now', 'late']);
  });

  test('leaves when the pipe hurries: those in order first, each once', () => {
    const { pipe, put, sent } = piped();
    put('x', 50, true);
    put('a', 100);
    put('b');
    pipe.hurry();
    expect(sent).toEqual(['a', 'b', 'x']);
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual(['a', 'b', 'x']);
  });

  test('is lost with the pipe, and no timer is left', () => {
    const { pipe, put, sent } = piped();
    put('a', 100);
    put('b', 50, true);
    pipe.end();
    put('c');
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual([]);
  });
});

describe('the end of a pipe', () => {
  test('waits for what is late, and comes once', () => {
    const { pipe, put, sent } = piped();
    let ended = 0;
    put('a', 100);
    pipe.whenDrained(1_000, () => (ended += 1));
    vi.advanceTimersByTime(99);
    expect([sent, ended]).toEqual([[], 0]);
    vi.advanceTimersByTime(1);
    expect([sent, ended, vi.getTimerCount()]).toEqual([['a'], 1, 0]);
  });

  test('comes at its limit all the same, and what was late is lost', () => {
    const { pipe, put, sent } = piped();
    let ended = 0;
    put('a', 5_000);
    pipe.whenDrained(1_000, () => (ended += 1));
    vi.advanceTimersByTime(10_000);
    expect([sent, ended]).toEqual([[], 1]);
  });
});

test('a socket that takes no more holds its source up until it has taken most of it', () => {
  const { put, to, flow, done } = piped();
  to.bufferedAmount = 4 * 1024 * 1024;
  put('a');
  expect(flow).toEqual([]);
  to.bufferedAmount += 1;
  put('b');
  put('c');
  done[0]!();
  expect(flow).toEqual(['pause']);
  to.bufferedAmount = 1024 * 1024;
  for (const sentIt of done) sentIt();
  expect(flow).toEqual(['pause', 'resume']);
});
