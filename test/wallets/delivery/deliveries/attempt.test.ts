/** What one try makes of a delivery and of its endpoint: the pure parts. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluateTry, requeued, signingSecrets, suspends } from '../../../../wallets/delivery/deliveries/attempt.ts';
import {
  attemptsKept,
  type DeliveryRecord,
  deliveryIdOf,
  deliveryType,
} from '../../../../wallets/delivery/deliveries/record.ts';
import { suspendAfterMs } from '../../../../wallets/delivery/deliveries/retry-schedule.ts';
import type { SendOutcome } from '../../../../wallets/delivery/egress/contract.ts';
import type { WebhookRecord } from '../../../../wallets/delivery/webhooks/record.ts';

const nowMs = 1_790_000_000_000;
const eventId = 'evt_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e';
const queued: DeliveryRecord = {
  id: deliveryIdOf(eventId, 'whk_1'),
  version: 1,
  webhookId: 'whk_1',
  eventId,
  eventType: 'wallet.created',
  sequence: 7,
  status: 'queued',
  attempts: [],
  attemptCount: 0,
  failedTries: 0,
  nextAttemptAtMs: null,
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
};
const answered = (status: number): SendOutcome => ({ kind: 'answered', status, retryAfter: undefined, tookMs: 12.4 });
const silent: SendOutcome = { kind: 'failed', code: 'timeout', message: 'no answer', tookMs: 15_000 };

test('an id follows from event and webhook, sorts by the event’s time, and is a UUIDv7', () => {
  expect(queued.id).toMatch(/^dlv_01938f2a-7c1e-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(deliveryIdOf(eventId, 'whk_1')).toBe(queued.id);
  expect(deliveryIdOf(eventId, 'whk_2')).not.toBe(queued.id);
});

describe('a try', () => {
  test('that is answered with 2xx ends the delivery', () => {
    const verdict = evaluateTry(queued, answered(204), nowMs + 20, 0.5, [100]);
    expect(verdict).toMatchObject({ retryAtMs: undefined, endpoint: 'answered', gone: false });
    expect(verdict.after).toEqual({
      ...queued,
      version: 2,
      status: 'delivered',
      attempts: [{ atMs: nowMs + 8, status: 204, latencyMs: 12, error: null }],
      lastAnswer: null,
      attemptCount: 1,
      updatedAtMs: nowMs + 20,
    });
  });

  test('without an answer is made again when the schedule says so, and says what went wrong', () => {
    const verdict = evaluateTry(queued, silent, nowMs, 0.5, [100]);
    expect(verdict).toMatchObject({ retryAtMs: nowMs + 100, endpoint: 'failed', gone: false });
    expect(verdict.after).toMatchObject({ status: 'retrying', nextAttemptAtMs: nowMs + 100, failedTries: 1 });
    expect(verdict.after.attempts).toEqual([
      { atMs: nowMs - 15_000, status: null, latencyMs: 15_000, error: 'timeout' },
    ]);
  });

  test('answered with 410 ends it and its endpoint', () => {
    const verdict = evaluateTry(queued, answered(410), nowMs, 0.5, [100]);
    expect(verdict).toMatchObject({ retryAtMs: undefined, endpoint: 'failed', gone: true });
    expect(verdict.after.status).toBe('failed');
  });

  test('any row of them: as many tries as the schedule has pauses and one, counted all, the last ones kept', () => {
    const statuses = fc.array(fc.constantFrom(0, 200, 299, 300, 301, 404, 410, 500, 503), {
      minLength: 1,
      maxLength: 60,
    });
    const pauses = fc.array(fc.integer({ min: 1, max: 1_000 }), { maxLength: 50 });
    fc.assert(
      fc.property(statuses, pauses, (row, schedule) => {
        let delivery = queued;
        for (const status of row) {
          if (delivery.status === 'delivered' || delivery.status === 'failed') break;
          const outcome = status === 0 ? silent : answered(status);
          // Of clocks of which each is behind the last.
          const triedMs = nowMs - delivery.attemptCount;
          const { after, retryAtMs, endpoint } = evaluateTry(delivery, outcome, triedMs, 0.5, schedule);
          expect(after.updatedAtMs).toBe(nowMs);
          expect(after.version).toBe(delivery.version + 1);
          expect(after.attemptCount).toBe(delivery.attemptCount + 1);
          expect(after.attempts.length).toBe(Math.min(after.attemptCount, attemptsKept));
          expect(after.nextAttemptAtMs === null).toBe(after.status !== 'retrying');
          expect(retryAtMs ?? null).toBe(after.nextAttemptAtMs);
          expect(endpoint === 'answered').toBe(after.status === 'delivered');
          delivery = after;
        }
        expect(delivery.attemptCount).toBeLessThanOrEqual(schedule.length + 1);
        const refused = row.slice(0, delivery.attemptCount);
        expect(delivery.status === 'delivered').toBe([200, 299].includes(refused.at(-1)!));
      }),
    );
  });

  test('of more than are kept the oldest one goes', () => {
    const schedule = Array.from({ length: attemptsKept + 1 }, () => 100);
    const tried = schedule.reduce(
      (before, _, index) => evaluateTry(before, answered(500 + index), nowMs, 0.5, schedule).after,
      queued,
    );
    expect(tried.attempts.map(({ status }) => status)).toEqual(schedule.map((_, index) => 500 + index).slice(1));
  });

  test('asked for anew has the whole schedule before it', () => {
    const failed = evaluateTry(queued, silent, nowMs, 0.5, []).after;
    expect(failed.status).toBe('failed');
    const again = requeued(failed, nowMs + 5);
    expect(again).toMatchObject({ status: 'retrying', failedTries: 0, attemptCount: 1, nextAttemptAtMs: nowMs + 5 });
    expect(evaluateTry(again, silent, nowMs + 6, 0.5, [100]).after.status).toBe('retrying');
  });
});

test('a delivery stands in the list of its webhook and in that of its status', () => {
  expect(deliveryType.indices(queued)).toEqual(['deliveries:whk_1', 'deliveries:whk_1:queued']);
});

const webhook: WebhookRecord = {
  id: 'whk_1',
  version: 3,
  url: 'https://example.com',
  events: ['*'],
  description: null,
  status: 'enabled',
  secrets: [
    { sealed: 'new', endsAtMs: null },
    { sealed: 'old', endsAtMs: nowMs + 1 },
  ],
  createdAtMs: nowMs - 2 * suspendAfterMs,
  updatedAtMs: nowMs - 2 * suspendAfterMs,
};

test('an old secret signs until its time, the newest always and first', () => {
  expect(signingSecrets(webhook, nowMs)).toEqual(['new', 'old']);
  expect(signingSecrets(webhook, nowMs + 1)).toEqual(['new']);
});

test('a webhook is suspended after five days of failure, counted anew from its last change, and only if it is enabled', () => {
  const since = nowMs - suspendAfterMs;
  expect(suspends(webhook, since, nowMs)).toBe(true);
  expect(suspends(webhook, since + 1, nowMs)).toBe(false);
  expect(suspends(webhook, null, nowMs)).toBe(false);
  expect(suspends({ ...webhook, updatedAtMs: since + 1 }, since, nowMs)).toBe(false);
  expect(suspends({ ...webhook, status: 'disabled' }, since, nowMs)).toBe(false);
});
