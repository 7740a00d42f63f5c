/** When refused callers are asked to come back. */
import { expect, it } from 'vitest';
import { ReturnTimes } from '../../../core/actors/admission/return-times.ts';

it('callers that are refused together return one after the other, at the rate at which work starts', () => {
  const times = new ReturnTimes();
  const asked = Array.from({ length: 5 }, () => times.next(1_000, 1_000, 0.01));
  expect(asked).toEqual([1_000, 1_100, 1_200, 1_300, 1_400]);
});

it('no one is asked to wait for longer than ten seconds for the sequence alone: then it begins anew', () => {
  const times = new ReturnTimes();
  const asked = Array.from({ length: 3_000 }, () => times.next(0, 1_000, 0.1));
  expect(Math.min(...asked)).toBe(1_000);
  expect(Math.max(...asked)).toBe(10_000);
  const each = new Map<number, number>();
  for (const ms of asked) each.set(Math.ceil(ms / 1000), (each.get(Math.ceil(ms / 1000)) ?? 0) + 1);
  expect(Math.max(...each.values())).toBeLessThan(500);
});

it('a caller who is refused alone returns as soon as may be, however long the queue needs, and a sequence that is past is forgotten', () => {
  const times = new ReturnTimes();
  expect(times.next(0, 1_000, 0.001)).toBe(1_000);
  expect(times.next(60_000, 1_000, 0.001)).toBe(1_000);
  expect(times.next(60_000, 30_000)).toBe(30_000);
  expect(times.next(60_000, 30_000)).toBe(30_000);
});

it('the rate may be unknown, or as good as none', () => {
  const times = new ReturnTimes();
  expect([times.next(0, 1_000), times.next(0, 1_000)]).toEqual([1_000, 1_010]);
  expect(new ReturnTimes().next(0, 1_000, 0)).toBe(1_000);
});
