/** What one peer may cost the link server unasked, at its exact bounds. */
import { expect, it } from 'vitest';
import { PeerShare } from '../../../core/actors/live/peer-share.ts';

function setUp() {
  let nowMs = 0;
  const share = new PeerShare(() => nowMs);
  /** So many frames a second in messages of one, read as slowly as the share says; ends with the cut, or at the end. */
  const flood = (
    perSecond: number,
    seconds: number,
    bytes = 100,
  ): { readonly read: number; readonly cutMs?: number } => {
    const endMs = nowMs + seconds * 1_000;
    for (let read = 1; ; read += 1) {
      const pauseMs = share.unasked(1, bytes);
      if (pauseMs === 'cut') return { read, cutMs: nowMs };
      nowMs += Math.max(pauseMs, 1_000 / perSecond);
      if (nowMs >= endMs) return { read };
    }
  };
  return { share, flood, pass: (ms: number) => (nowMs += ms) };
}

it('reads a flood at 2,000 frames a second, and cuts it after five seconds', () => {
  const { read, cutMs } = setUp().flood(50_000, 20);
  expect(cutMs).toBeGreaterThanOrEqual(5_000);
  expect(cutMs).toBeLessThan(6_100);
  expect(read / (cutMs! / 1_000)).toBeLessThan(2_100);
});

it('never cuts, and reads without a pause, what stays below its share', () => {
  const { share, flood } = setUp();
  expect(flood(990, 60).cutMs).toBeUndefined();
  expect(share.unasked(1, 100)).toBe(0);
});

it('cuts nothing that is over its share for less than five seconds, as often as it may be', () => {
  const { flood, pass } = setUp();
  for (let times = 0; times < 5; times += 1) {
    expect(flood(50_000, 4).cutMs).toBeUndefined();
    pass(4_100);
  }
});

it('cuts a flood that continues after a cut within two seconds, whatever the link', () => {
  const { flood } = setUp();
  const first = flood(50_000, 20).cutMs!;
  expect(flood(50_000, 20).cutMs! - first).toBeLessThan(2_100);
});

it('counts a KiB of an unasked message as a frame, and reads nothing for a second at most', () => {
  const { share } = setUp();
  expect(share.unasked(1, 8 * 1_024 * 1_024)).toBe(1_000);
});

it('ten links may open at once, then two a second; one that would wait for more than four seconds is refused', () => {
  const { share, pass } = setUp();
  const waits = Array.from({ length: 20 }, () => share.link());
  expect(waits.slice(0, 10)).toEqual(new Array(10).fill(0));
  expect(waits.slice(10, 18)).toEqual([500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000]);
  expect(waits.slice(18)).toEqual([undefined, undefined]);
  pass(60_000);
  expect(share.link()).toBe(0);
});
