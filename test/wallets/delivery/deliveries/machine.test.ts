/** The pure parts of a delivery: its signatures, as an independent library reads them, and its schedule. */
import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { MachineMs } from '../../../../core/actors/contract.ts';
import { systemTimers } from '../../../../core/actors/live/ports.ts';
import {
  afterTry,
  mustSuspend,
  retryAfterMs,
  retryScheduleMs,
  suspendAfterMs,
} from '../../../../wallets/delivery/deliveries/retry-schedule.ts';
import { signDelivery } from '../../../../wallets/delivery/deliveries/webhook-signature.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const body = Buffer.from('{"id":"evt_1","text":"grüße 🌍"}');

describe('signatures', () => {
  test('X-Svc-Signature is the lowercase hex HMAC-SHA256 of the body under the secret as it is written', () => {
    const secret = newSecret();
    const headers = signDelivery([secret], 'evt_1', systemTimers.epochMs(), body);
    expect(headers['x-svc-signature']).toMatch(/^[0-9a-f]{64}$/);
    expect(headers['x-svc-signature']).toBe(
      createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex'),
    );
  });

  test('during a rotation X-Svc-Signature is that of the newest secret, and the time is in seconds', () => {
    const [newest, old] = [newSecret(), newSecret()];
    const headers = signDelivery([newest, old], 'evt_1', 1_700_000_000_999 as MachineMs, body);
    expect(headers['x-svc-signature']).toBe(signDelivery([newest], 'evt_1', 0 as MachineMs, body)['x-svc-signature']);
    expect(headers['webhook-timestamp']).toBe('1700000000');
  });

  test('the standardwebhooks package verifies it, with the new and with the old secret', () => {
    const [newest, old, other] = [newSecret(), newSecret(), newSecret()];
    const headers = { ...signDelivery([newest, old], 'evt_1', systemTimers.epochMs(), body) };
    for (const secret of [newest, old]) expect(new Webhook(secret).verify(body, headers)).toBeTruthy();
    expect(() => new Webhook(other).verify(body, headers)).toThrow();
    expect(() => new Webhook(newest).verify(`${body.toString()} `, headers)).toThrow();
    expect(() => new Webhook(newest).verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow();
  });

  test('nothing is signed without a secret', () => {
    expect(() => signDelivery([], 'evt_1', 0 as MachineMs, body)).toThrow('needs a secret');
  });
});

describe('the schedule', () => {
  const nowMs = 1_790_000_000_000 as MachineMs;
  const failed = { status: 500, askedPauseMs: 0 };

  test('2xx alone is delivered; a redirect is not', () => {
    for (const status of [200, 201, 204, 299]) {
      expect(afterTry({ status, askedPauseMs: 0 }, 0, nowMs, 0)).toEqual({ kind: 'delivered' });
    }
    for (const status of [0, 100, 301, 307, 400, 404, 429, 500, 503]) {
      expect(afterTry({ status, askedPauseMs: 0 }, 0, nowMs, 0).kind).toBe('retry');
    }
  });

  test('each pause is that of the schedule, ±20 %; then it gives up', () => {
    for (const [index, pauseMs] of retryScheduleMs.entries()) {
      expect(afterTry(failed, index, nowMs, 0)).toEqual({ kind: 'retry', atMs: nowMs + pauseMs * 0.8 });
      expect(afterTry(failed, index, nowMs, 0.5)).toEqual({ kind: 'retry', atMs: nowMs + pauseMs });
    }
    expect(afterTry(failed, retryScheduleMs.length, nowMs, 0)).toEqual({ kind: 'gaveUp' });
  });

  test('stays within a fifth, whatever chance says', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(6), (chance, tries) => {
        const step = afterTry(failed, tries, nowMs, chance);
        const pauseMs = step.kind === 'retry' ? step.atMs - nowMs : Number.NaN;
        expect(Math.abs(pauseMs - retryScheduleMs[tries]!)).toBeLessThanOrEqual(retryScheduleMs[tries]! / 5 + 1);
      }),
    );
  });

  test.each([
    ['120', 120_000],
    [' 120 ', 120_000],
    [new Date(nowMs + 60_000).toUTCString(), 60_000],
    ['1000000', 24 * 3_600_000],
    ['1000000000000', 24 * 3_600_000],
    ['9'.repeat(400), 24 * 3_600_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 24 * 3_600_000],
    ['1', 5_000],
    ['-5', 5_000],
    ['soon', 5_000],
    ['1e9', 5_000],
    ['', 5_000],
    [new Date(nowMs - 60_000).toUTCString(), 5_000],
  ])('Retry-After %j: tried again after %d ms', (retryAfter, pauseMs) => {
    const askedPauseMs = retryAfterMs(retryAfter, nowMs);
    expect(afterTry({ status: 503, askedPauseMs }, 0, nowMs, 0.5)).toEqual({ kind: 'retry', atMs: nowMs + pauseMs });
  });

  test('410 ends it at once', () => {
    expect(afterTry({ status: 410, askedPauseMs: 5_000 }, 0, nowMs, 0)).toEqual({ kind: 'gone' });
  });

  test('an endpoint is suspended after five days of failure, not before', () => {
    expect(mustSuspend(null, nowMs)).toBe(false);
    expect(mustSuspend(nowMs - suspendAfterMs + 1, nowMs)).toBe(false);
    expect(mustSuspend(nowMs - suspendAfterMs, nowMs)).toBe(true);
  });
});
