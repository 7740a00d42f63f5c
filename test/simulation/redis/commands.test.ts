/** Random sequences of commands to a real Redis and to the one in memory: equal answers, equal errors, equal content. */
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/actors/live/ports.ts';
import type { Packing } from '../../../simulation/redis/blocks.ts';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';
import { openDatabase, type RedisDatabase } from '../../support/redis-database.ts';
import { dumpRedis } from '../../support/redis-dump.ts';
import { runs } from '../../support/thorough.ts';

let database: RedisDatabase;
let real: Redis;
beforeAll(async () => {
  database = await openDatabase();
  // Pairs as flat lists, as scripts see them.
  real = new Redis(database.url, { protocol: 2 });
});
afterAll(async () => {
  real.disconnect();
  await database.stop();
});

/** Few, so that commands meet; each kind of value has keys of its own, and one is shared by all. */
const keyOf = (kind: string) => fc.constantFrom(`${kind}1`, `${kind}2`, `${kind}3`, 'any');
const word = fc.constantFrom('a', 'b', 'c', 'dd', 'é', '\u{1f511}', '', 'A', '10', '9', '-3', '0');
const whole = fc.integer({ min: -3, max: 6 }).map(String);
const score = fc.oneof(whole, fc.constantFrom('1.5', '-inf', '+inf', '1e3', 'x', '1700000000000'));
const scoreBound = fc.oneof(
  score,
  whole.map((each) => `(${each}`),
  fc.constant('-inf'),
  fc.constant('+inf'),
);
const lexBound = fc.oneof(
  fc.constantFrom('-', '+'),
  word.map((each) => `[${each}`),
  word.map((each) => `(${each}`),
);
const limit = fc.oneof(
  fc.constant([]),
  fc.tuple(
    fc.constant('LIMIT'),
    fc.integer({ min: 0, max: 3 }).map(String),
    fc.integer({ min: -1, max: 4 }).map(String),
  ),
);
const scores = fc.constantFrom([], ['WITHSCORES']);
const several = (each: fc.Arbitrary<string>) => fc.array(each, { minLength: 1, maxLength: 3 });
const pairs = (first: fc.Arbitrary<string>, second: fc.Arbitrary<string>) =>
  fc.array(fc.tuple(first, second), { minLength: 1, maxLength: 3 }).map((all) => all.flat());
const command = (name: string, ...parts: readonly fc.Arbitrary<string | readonly string[]>[]) =>
  fc.tuple(...parts).map((words) => [name, ...words.flat()]);

const [text, hash, zset, set, stream] = ['s', 'h', 'z', 'm', 'x'].map(keyOf) as [
  fc.Arbitrary<string>,
  ...fc.Arbitrary<string>[],
];
/** All members have one score: without that, Redis leaves open what a range by bytes gives. */
const lexKey = fc.constantFrom('l1', 'l2');
const anyKey = fc.oneof(text!, hash!, zset!, set!, stream!);

const commands = fc.oneof(
  command('EXISTS', several(anyKey)),
  command('DEL', several(anyKey)),
  command('UNLINK', several(anyKey)),
  command('PEXPIRE', anyKey, fc.constantFrom('600000', '0', '-5', 'x')),
  command('PERSIST', anyKey),
  command('TYPE', anyKey),
  command('GET', text!),
  command('MGET', several(text!)),
  command('MSET', pairs(text!, word)),
  command('SET', text!, word, fc.constantFrom([], ['NX'], ['PX', '600000'], ['NX', 'PX', '600000'])),
  command('SETNX', text!, word),
  command('INCR', text!),
  command('HSET', hash!, pairs(word, word)),
  command('HSETNX', hash!, word, word),
  command('HGET', hash!, word),
  command('HMGET', hash!, several(word)),
  command('HGETALL', hash!),
  command('HVALS', hash!),
  command('HKEYS', hash!),
  command('HLEN', hash!),
  command('HEXISTS', hash!, word),
  command('HSTRLEN', hash!, word),
  command('HDEL', hash!, several(word)),
  command('HINCRBY', hash!, word, fc.oneof(whole, fc.constantFrom('9223372036854775807', 'x'))),
  command('SADD', set!, several(word)),
  command('SREM', set!, several(word)),
  command('SMEMBERS', set!),
  command('ZADD', zset!, fc.constantFrom([], ['LT']), pairs(score, word)),
  command('ZADD', lexKey, pairs(fc.constant('0'), word)),
  command('ZREM', fc.oneof(zset!, lexKey), several(word)),
  command('ZCARD', zset!),
  command('ZSCORE', zset!, word),
  command('ZMSCORE', zset!, several(word)),
  command('ZRANK', zset!, word),
  command('ZRANGE', zset!, whole, whole, scores),
  command('ZRANGE', lexKey, lexBound, lexBound, fc.constant('BYLEX'), limit),
  command('ZRANGE', lexKey, lexBound, lexBound, fc.constant(['BYLEX', 'REV']), limit),
  command('ZREVRANGE', zset!, whole, whole, scores),
  command('ZRANGEBYSCORE', zset!, scoreBound, scoreBound, scores, limit),
  command('ZREVRANGEBYSCORE', zset!, scoreBound, scoreBound, scores, limit),
  command('ZCOUNT', zset!, scoreBound, scoreBound),
  command('ZLEXCOUNT', lexKey, lexBound, lexBound),
  command('ZPOPMIN', zset!),
  command('ZREMRANGEBYSCORE', zset!, scoreBound, scoreBound),
  command('XLEN', stream!),
  command(
    'XADD',
    stream!,
    fc.integer({ min: 1, max: 9 }).map((n) => `${n}-0`),
    pairs(word, word),
  ),
  command(
    'XRANGE',
    stream!,
    fc.constantFrom('-', '3-0', '9-0'),
    fc.constantFrom('+', '12-0'),
    fc.constantFrom([], ['COUNT', '2']),
  ),
  command(
    'XTRIM',
    stream!,
    fc.constant('MINID'),
    fc.integer({ min: 1, max: 30 }).map((n) => `${n}-0`),
  ),
);

const unordered = new Set(['HGETALL', 'HVALS', 'HKEYS', 'SMEMBERS']);

/** Blocks of one value, so that a few commands make some. */
const packings = fc.constantFrom<(Packing | undefined)[]>(
  undefined,
  { values: 1, charsMin: 0 },
  { values: 2, charsMin: 6 },
);

function inMemory(packing?: Packing) {
  const redis = new MemoryRedis(systemClock, packing);
  return { space: redis.space, memory: redis.client() };
}

/** Hashes and sets have no order. Of two mistakes in one command Redis names now this one first, now that one. */
async function answer(redis: Redis, [name, ...words]: readonly string[]): Promise<unknown> {
  try {
    const reply = await redis.call(name!, ...words);
    return unordered.has(name!) ? [...(reply as string[])].sort() : reply;
  } catch {
    return 'error';
  }
}

/** Of every run: each is refused, since its key holds another type. */
const wrongTypes = [
  ['SET', 'a', 'text'],
  ['HINCRBY', 'a', 'f', '1'],
  ['INCR', 'a'],
  ['ZADD', 'a', '1', 'm'],
  ['XADD', 'a', '1-1', 'f', 'v'],
  ['HSET', 'b', 'f', 'v'],
  ['GET', 'b'],
];

describe('a sequence of commands', () => {
  test('gives the same answers and leaves the same content', async () => {
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(commands, { minLength: 1, maxLength: 40 }), packings, async (sequence, packing) => {
        await real.flushdb();
        const { space, memory } = inMemory(packing);
        const copiedAt = packing === undefined ? -1 : sequence.length >> 1;
        for (const [index, each] of sequence.entries()) {
          if (index === copiedAt) space.restore(structuredClone(space.snapshot()));
          const expected = await answer(real, each);
          expect(await answer(memory, each), each.join(' ')).toEqual(expected);
          kinds.add(`${each[0]} ${String(expected).startsWith('error') ? 'refused' : 'answered'}`);
        }
        expect(await dumpRedis(memory)).toBe(await dumpRedis(real));
        for (const key of await real.keys('*')) {
          const [one, other] = [await real.pttl(key), await memory.pttl(key)];
          expect(other < 0 ? other : 'some').toBe(one < 0 ? one : 'some');
        }
      }),
      { numRuns: runs(800, 50_000), examples: [[wrongTypes, undefined]] },
    );
    for (const refused of ['HINCRBY', 'INCR', 'ZADD', 'XADD', 'GET']) expect(kinds).toContain(`${refused} refused`);
  });
});

test('a key leaves when its time is over, by the clock that is handed in', async () => {
  let nowMs = 1_000;
  const memory = new MemoryRedis({ nowMs: () => nowMs }).client();
  await memory.set('a', '1', 'PX', 50);
  nowMs += 49;
  expect(await memory.get('a')).toBe('1');
  expect(await memory.pttl('a')).toBe(1);
  nowMs += 1;
  expect(await memory.get('a')).toBeNull();
  expect(await memory.pttl('a')).toBe(-2);
  expect(await memory.keys('*')).toEqual([]);
});

test('a command that no port uses is refused by name', async () => {
  const memory = new MemoryRedis(systemClock).client();
  await expect(memory.call('GEOADD', 'k')).rejects.toThrow('GEOADD');
  await expect(memory.call('SET', 'k', 'v', 'KEEPTTL')).rejects.toThrow('KEEPTTL');
});

test('keys whose time is over leave although nothing reads them, where a service runs for long', async () => {
  let nowMs = 1_000;
  const { space, memory } = (() => {
    const redis = new MemoryRedis({ nowMs: () => nowMs }, { values: 2, charsMin: 0 });
    return { space: redis.space, memory: redis.client() };
  })();
  for (let n = 0; n < 100; n += 1) await memory.set(`short${n}`, 'text', 'PX', 50);
  nowMs += 50;
  for (let n = 0; n < 120; n += 1) await memory.set(`long${n}`, 'text');
  expect(space.held).toBe(120);
});
