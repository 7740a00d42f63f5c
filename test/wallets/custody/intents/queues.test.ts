/** The driver's small parts: turns between tenants, waits in order, growing pauses. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryDelayMs } from '../../../../wallets/custody/intents/backoff.ts';
import { FairQueue } from '../../../../wallets/custody/intents/fair-queue.ts';
import { TimeHeap } from '../../../../wallets/store/time-heap.ts';

test('tenants take turns, and each is served in its own order', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 60 }), (pushes) => {
      const queue = new FairQueue<string>();
      for (const [index, tenant] of pushes.entries()) queue.push(tenant, `${tenant}${index}`);
      const taken: string[] = [];
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) taken.push(item);
      expect([...taken].sort()).toEqual(pushes.map((tenant, index) => `${tenant}${index}`).sort());
      for (const tenant of 'abc') {
        const own = taken.filter((item) => item.startsWith(tenant));
        expect(own).toEqual(pushes.flatMap((name, index) => (name === tenant ? [`${tenant}${index}`] : [])));
        // While it has work, every other tenant comes at most once between two of its own.
        const places = taken.flatMap((item, index) => (item.startsWith(tenant) ? [index] : []));
        for (const [turn, place] of places.entries())
          if (turn > 0) expect(place - places[turn - 1]!).toBeLessThanOrEqual(3);
      }
    }),
  );
});

test('waits end in the order of their times, none before its time', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 })), fc.integer({ min: 0, max: 100 }), (times, nowMs) => {
      const heap = new TimeHeap<number>();
      for (const atMs of times) heap.push(atMs, atMs);
      expect(heap.nextAtMs).toBe(times.length === 0 ? undefined : Math.min(...times));
      const popped: number[] = [];
      for (let item = heap.popDue(nowMs); item !== undefined; item = heap.popDue(nowMs)) popped.push(item);
      expect(popped).toEqual(times.filter((atMs) => atMs <= nowMs).sort((a, b) => a - b));
      expect(heap.nextAtMs).toBe(times.filter((atMs) => atMs > nowMs).sort((a, b) => a - b)[0]);
    }),
  );
});

test('pauses double from 0.2 s to 10 s, are a random part of that, and respect the provider', () => {
  const most = (length: number) => new Uint8Array(length).fill(255);
  const least = (length: number) => new Uint8Array(length);
  expect([0, 1, 2, 5, 6, 50].map((attempts) => retryDelayMs(attempts, most, 0))).toEqual([
    200, 400, 800, 6_400, 10_000, 10_000,
  ]);
  expect(retryDelayMs(50, least, 0)).toBe(1);
  expect(retryDelayMs(50, least, 3_000)).toBe(3_000);
});
