/** The script that counts calls, and what the limiter makes of its answers, on Redis and in memory. */
import { describe, expect, test } from 'vitest';
import { RedisRateLimits } from '../../gateway/limits/rate-limits.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';
import { describeScript } from '../support/redis-script.ts';

const counterKey = 'sm:{t:a}:rl:reads';

describeScript('gateway/limits/count-call.lua', (script) => {
  test('the first call opens the window, the others are counted in it', async () => {
    expect(await script.call({ counterKey }, { windowMs: 10_000 })).toEqual([1, 10_000]);
    const [calls, leftMs] = (await script.call({ counterKey }, { windowMs: 60_000 })) as [number, number];
    expect(calls).toBe(2);
    expect(leftMs).toBeGreaterThan(5_000);
    expect(leftMs).toBeLessThanOrEqual(10_000);
  });

  test('a counter without an end gets one', async () => {
    await script.redis.set(counterKey, 7);
    expect(await script.call({ counterKey }, { windowMs: 10_000 })).toEqual([8, 10_000]);
    expect(await script.redis.pttl(counterKey)).toBeGreaterThan(0);
  });
});

describe('the limiter', () => {
  const config = { windowS: 10, reads: 2, writes: 5, signing: 5 };
  let nowMs = 0;
  const timers = { elapsedMs: () => nowMs };

  test('asks Redis nothing for a tenant that is over its limit, until the window ends', async () => {
    const memory = new MemoryRedis({ nowMs: () => nowMs });
    const asked: string[] = [];
    const redis = memory.client({
      command: async (perform, name) => {
        asked.push(name);
        return perform();
      },
    });
    const limits = new RedisRateLimits(redis, config, timers);
    const consume = () => limits.consume('a', 'reads');
    expect(await consume()).toMatchObject({ allowed: true, state: '"reads";r=1;t=10' });
    expect(await consume()).toMatchObject({ allowed: true, state: '"reads";r=0;t=10' });
    nowMs = 4_500;
    expect(await consume()).toEqual({
      allowed: false,
      policy: '"reads";q=2;w=10',
      state: '"reads";r=0;t=6',
      resetS: 6,
    });
    const before = asked.length;
    nowMs = 9_999;
    expect(await consume()).toMatchObject({ allowed: false, resetS: 1 });
    expect(asked.length).toBe(before);
    expect(await limits.consume('a', 'writes')).toMatchObject({ allowed: true });
    expect(await limits.consume('b', 'reads')).toMatchObject({ allowed: true });
    nowMs = 10_000;
    expect(await consume()).toMatchObject({ allowed: true, state: '"reads";r=1;t=10' });
  });
});
