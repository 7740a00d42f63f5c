import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { depthOf, nextBlockMs } from '../../../providers/chains/block-time.ts';
import { luaUnits, toDigits } from '../../../providers/chains/lua-units.ts';
import { openDatabase, type RedisDatabase } from '../../support/redis-database.ts';

let server: RedisDatabase;
let redis: Redis;
beforeAll(async () => {
  server = await openDatabase();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

describe('amounts in scripts', () => {
  const amount = fc.oneof(
    fc.bigInt({ min: 0n, max: 10n ** 41n }),
    // Around the edges of the limbs.
    fc
      .record({ power: fc.constantFrom(14n, 28n, 41n), off: fc.bigInt({ min: -3n, max: 3n }) })
      .map(({ power, off }) => 10n ** power + off),
    fc.bigInt({ min: 0n, max: 3n }),
  );
  const script = `${luaUnits} return {plus(ARGV[1], ARGV[2]), minus(ARGV[1], ARGV[2]), amount(redis.call('GET', 'none'))}`;

  it('add up and subtract exactly', async () => {
    await fc.assert(
      fc.asyncProperty(amount, amount, async (a, b) => {
        const [more, less] = a > b ? [a, b] : [b, a];
        const answer = (await redis.eval(script, 0, toDigits(more), toDigits(less))) as string[];
        expect(answer.map(BigInt)).toEqual([more + less, more - less, 0n]);
        expect(answer.every((text) => text.length === 42)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('refuse to leave their range', async () => {
    const top = 10n ** 42n - 1n;
    await expect(
      redis.eval(`${luaUnits} return plus(ARGV[1], ARGV[2])`, 0, toDigits(top), toDigits(1n)),
    ).rejects.toThrow(/out of range/);
    await expect(
      redis.eval(`${luaUnits} return minus(ARGV[1], ARGV[2])`, 0, toDigits(1n), toDigits(2n)),
    ).rejects.toThrow(/out of range/);
    expect(() => toDigits(top + 1n)).toThrow(/42 digits/);
    expect(() => toDigits(-1n)).toThrow(/42 digits/);
  });
});

describe('blocks', () => {
  const time = fc.integer({ min: 1_735_689_600_000, max: 4_000_000_000_000 });
  const blockMs = fc.integer({ min: 1, max: 60_000 });

  it('come next after whatever they take in, within one block time', () => {
    fc.assert(
      fc.property(time, blockMs, (nowMs, every) => {
        const next = nextBlockMs(nowMs, every);
        expect(next).toBeGreaterThan(nowMs);
        expect(next - nowMs).toBeLessThanOrEqual(every);
        expect(depthOf(next, nowMs, every, 2)).toMatchObject({ state: 'pending', confirmations: 0 });
        expect(depthOf(next, next, every, 2)).toMatchObject({ state: 'confirming', confirmations: 1 });
        expect(depthOf(next, next, every, 1).state).toBe('confirmed');
      }),
    );
  });

  it('grow deeper by one a block time, and are final just when they said', () => {
    fc.assert(
      fc.property(time, blockMs, fc.integer({ min: 1, max: 6 }), (nowMs, every, needed) => {
        const mined = nextBlockMs(nowMs, every);
        const { confirmedAtMs } = depthOf(mined, nowMs, every, needed);
        expect(depthOf(mined, confirmedAtMs, every, needed).state).toBe('confirmed');
        expect(depthOf(mined, confirmedAtMs - 1, every, needed).state).not.toBe('confirmed');
        expect(depthOf(mined, confirmedAtMs, every, needed).confirmations).toBe(needed);
      }),
    );
  });
});
