/** The limits of a gateway, each as the pages state it, and what a wallet's state makes of its terms for clients. */
import { expect, test } from 'vitest';
import { refusalAfterMs } from '../../gateway/auth/admission.ts';
import { freshMs, staleMs } from '../../gateway/auth/authenticator.ts';
import { tokenCharsMax } from '../../gateway/auth/token-format.ts';
import { approverTokenId, liveTokenLifetimeMs, sandboxTokenId, tenantPattern } from '../../gateway/auth/token-store.ts';
import { connectionsDefaultMax } from '../../gateway/http/connections.ts';
import { loadLimitDefaults } from '../../gateway/limits/load-control.ts';
import { RedisRateLimits, rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import { faultLifetime } from '../../gateway/sandbox/fault-schemas.ts';
import { callDeadlineDefaultMs, callDeadlineMaxMs, inFlightDefaultMax } from '../../gateway/signing/signing-calls.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';
import { collectLog } from '../support/log.ts';

test('every limit is the stated one', () => {
  expect(rateLimitDefaults).toEqual({ windowS: 10, reads: 300, writes: 100, signing: 2_000 });
  expect(loadLimitDefaults).toEqual({ inHandMax: 4_096, waitMs: 500 });
  expect(faultLifetime).toEqual({ defaultS: 300, maxS: 86_400 });
  const tokens = { freshMs, staleMs, refusalAfterMs, tokenCharsMax, liveTokenLifetimeMs };
  expect(tokens).toEqual({
    ...{ freshMs: 5_000, staleMs: 600_000, refusalAfterMs: 10, tokenCharsMax: 256 },
    liveTokenLifetimeMs: 90 * 86_400_000,
  });
  const calls = [callDeadlineDefaultMs, callDeadlineMaxMs, inFlightDefaultMax, connectionsDefaultMax];
  expect(calls).toEqual([30_000, 120_000, 4_096, 10_000]);
});

test('a tenant has a name of 1 to 64 characters, and a sandbox has two tokens of its own', () => {
  for (const name of ['a', 'A-b_9', 'x'.repeat(64)]) expect(name).toMatch(tenantPattern);
  for (const name of ['', 'x'.repeat(65), 'a b', 'a:b', '{a}', 'a\n', 'ä']) expect(name).not.toMatch(tenantPattern);
  expect([sandboxTokenId, approverTokenId]).toEqual(['tok_sandbox', 'tok_approver']);
});

test('a tenant over its limit has its whole allowance again when the store was reset or restored', async () => {
  const clock = { nowMs: () => 0, elapsedMs: () => 0 };
  const redis = new MemoryRedis(clock).client();
  const limits = new RedisRateLimits(redis, { windowS: 10, reads: 2, writes: 1, signing: 1 }, clock);
  const read = async () => {
    const { allowed, state } = await limits.consume('a', 'reads');
    return [allowed, state];
  };
  expect([await read(), await read(), await read()].map(([allowed]) => allowed)).toEqual([true, true, false]);
  await redis.del('sm:{t:a}:rl:reads');
  limits.restored();
  expect(await read()).toEqual([true, '"reads";r=1;t=10']);
});

test('a Redis that fails is asked once a second, and every call passes meanwhile', async () => {
  let nowMs = 0;
  let asked = 0;
  let fails = true;
  const redis = new MemoryRedis({ nowMs: () => nowMs }).client({
    command: async (perform) => {
      asked += 1;
      if (fails) throw new Error('away');
      return perform();
    },
  });
  const { lines, log } = collectLog();
  const config = { windowS: 10, reads: 1, writes: 1, signing: 1 };
  const limits = new RedisRateLimits(redis, config, { elapsedMs: () => nowMs }, log);
  const uncounted = { allowed: true, policy: '"reads";q=1;w=10', state: undefined, resetS: 0 };
  const askedAt = async (atMs: number) => {
    nowMs = atMs;
    const before = asked;
    expect(await limits.consume('a', 'reads')).toEqual(uncounted);
    return asked > before;
  };
  expect([await askedAt(0), await askedAt(0), await askedAt(999), await askedAt(1_000), await askedAt(1_999)]).toEqual([
    ...[true, false, false, true, false],
  ]);
  fails = false;
  nowMs = 2_000;
  const calls = [
    await limits.consume('a', 'reads'),
    await limits.consume('a', 'reads'),
    await limits.consume('b', 'reads'),
  ];
  expect(calls.map(({ allowed, resetS }) => [allowed, resetS])).toEqual([
    ...[
      [true, 10],
      [false, 10],
      [true, 10],
    ],
  ]);
  expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
    ...['warn rate limits are off while Redis is unreachable', 'info rate limits count again'],
  ]);
});
