/** Where an order stands follows from the time alone: forwards, never back, and asked for no more often than needed. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type StatusTimeline,
  slowQueueMs,
  standing,
  timelineFor,
} from '../../../wallets/providers/simulated/timeline.ts';

type Word = 'new' | 'queued' | 'sent' | 'confirming' | 'done' | 'broken';
const usual: StatusTimeline<Word> = [
  { status: 'new', fromMs: 0 },
  { status: 'queued', fromMs: 100 },
  { status: 'sent', fromMs: 250 },
  { status: 'confirming', fromMs: 400 },
  { status: 'done', fromMs: 1_000 },
];
const points = { queued: 'queued', confirming: 'confirming', failed: 'broken' } as const;
const takenAtMs = 1_790_000_000_000;
const order: readonly Word[] = ['new', 'queued', 'sent', 'confirming', 'done', 'broken'];

it.each([
  [-5, 'new'],
  [0, 'new'],
  [99, 'new'],
  [100, 'queued'],
  [399, 'sent'],
  [999, 'confirming'],
  [1_000, 'done'],
  [1e9, 'done'],
])('after %i ms it is %s', (elapsedMs, status) => {
  expect(standing(usual, takenAtMs, takenAtMs + elapsedMs).status).toBe(status);
});

it('never goes back, and something has changed when it says so', () => {
  const outcomes = [undefined, 'slow_queue', 'stuck_confirming', 'fails_on_chain', 'submit_rejected'] as const;
  fc.assert(
    fc.property(fc.nat(30_000), fc.nat(30_000), fc.constantFrom(...outcomes), (firstMs, moreMs, outcome) => {
      const timeline = timelineFor(usual, points, outcome);
      const first = standing(timeline, takenAtMs, takenAtMs + firstMs);
      const later = standing(timeline, takenAtMs, takenAtMs + firstMs + moreMs);
      expect(order.indexOf(later.status)).toBeGreaterThanOrEqual(order.indexOf(first.status));
      if (first.nextAtMs === undefined) {
        expect(later.status).toBe(first.status);
      } else {
        expect(first.nextAtMs).toBeGreaterThan(takenAtMs + firstMs);
        expect(standing(timeline, takenAtMs, first.nextAtMs).status).not.toBe(first.status);
      }
    }),
  );
});

it('stays in the queue for ten seconds, and later statuses move with it', () => {
  const slow = timelineFor(usual, points, 'slow_queue');
  expect(standing(slow, 0, slowQueueMs + 249).status).toBe('queued');
  expect(standing(slow, 0, slowQueueMs + 250).status).toBe('sent');
  expect(standing(slow, 0, slowQueueMs + 1_000).status).toBe('done');
});

it('ends in confirming, or fails, where it is told to', () => {
  expect(standing(timelineFor(usual, points, 'stuck_confirming'), 0, 1e12)).toEqual({
    status: 'confirming',
    nextAtMs: undefined,
  });
  expect(standing(timelineFor(usual, points, 'fails_on_chain'), 0, 1e12).status).toBe('broken');
});
