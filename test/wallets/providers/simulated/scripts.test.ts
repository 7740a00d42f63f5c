/** The scripts of simulated custodians: their records and their books. */
import { expect, test } from 'vitest';
import { describeScript } from '../../../support/redis-script.ts';

describeScript('wallets/providers/simulated/put-once.lua', (script) => {
  const keys = { recordKey: '{a}record', counterKey: '{a}count' };

  test('the first record stays, with its number; others get it too and take no number', async () => {
    expect(await script.call(keys, { json: 'first', ttlMs: 0 })).toEqual(['first', '1']);
    expect(await script.refused(keys, { json: 'second', ttlMs: 5 })).toEqual(['first', '1']);
    expect(await script.redis.pttl(keys.recordKey)).toBe(-1);
    expect(await script.call({ ...keys, recordKey: '{a}other' }, { json: 'x', ttlMs: 60_000 })).toEqual(['x', '2']);
    expect(await script.redis.pttl('{a}other')).toBeGreaterThan(50_000);
  });
});

const book = { rowsKey: '{a}rows', timesKey: '{a}times', dueKey: '{a}due', sumsKey: '{a}sums' };

describeScript('wallets/providers/simulated/book-post.lua', (script) => {
  const post = { row: 'r1', json: '{"n":1}', bookedAtMs: 100, settlesAtMs: 150, effect: '["r1",[]]', oldestMs: 50 };

  test('a row is written once, with its effect; rows that are too old leave the book', async () => {
    await script.redis.zadd(book.timesKey, 50, 'old', 51, 'edge');
    await script.redis.hset(book.rowsKey, { old: '{}', edge: '{}' });
    expect(await script.call(book, post)).toBe(1);
    expect(await script.redis.hgetall(book.rowsKey)).toEqual({ edge: '{}', r1: '{"n":1}' });
    expect(await script.redis.zrange(book.timesKey, '0', '-1')).toEqual(['edge', 'r1']);
    expect(await script.redis.zrange(book.dueKey, '0', '-1', 'WITHSCORES')).toEqual(['["r1",[]]', '150']);
    expect(await script.refused(book, { ...post, json: '{"n":2}' })).toBe(0);
  });

  test('one that never settles changes no balance', async () => {
    await script.call(book, { ...post, settlesAtMs: '' });
    expect(await script.redis.exists(book.dueKey)).toBe(0);
  });
});

describeScript('wallets/providers/simulated/book-rows.lua', (script) => {
  test.each<[string, object, readonly string[]]>([
    ['from a time', { fromMs: 2 }, ['b', 'c']],
    ['a page', { limit: 1 }, ['a']],
    ['after a row', { after: 'b', afterMs: 2 }, ['c']],
    ['after one that has left the book', { after: 'x', afterMs: 2 }, ['b', 'c']],
    ['after the last', { after: 'c', afterMs: 3 }, []],
  ])('%s', async (_, more, names) => {
    await script.redis.zadd(book.timesKey, 1, 'a', 2, 'b', 3, 'c');
    await script.redis.hset(book.rowsKey, { a: 'A', b: 'B', c: 'C' });
    const [page, rows] = (await script.refused(book, {
      fromMs: 0,
      after: '',
      afterMs: '',
      limit: 9,
      ...more,
    })) as string[][];
    expect(page!.filter((_name, k) => k % 2 === 0)).toEqual(names);
    expect(rows).toEqual(names.map((name) => name.toUpperCase()));
  });
});

describeScript('wallets/providers/simulated/book-balances.lua', (script) => {
  const digits = (units: bigint) => units.toString().padStart(42, '0');

  test('what has settled by now is added once, with carries; the rest waits', async () => {
    await script.redis.hset(book.sumsKey, 'ETH', digits(10n ** 28n - 1n));
    await script.redis.zadd(
      book.dueKey,
      5,
      JSON.stringify([
        'r1',
        [
          ['ETH', digits(1n)],
          ['BTC', digits(7n)],
        ],
      ]),
    );
    await script.redis.zadd(book.dueKey, 6, JSON.stringify(['r2', [['ETH', digits(1n)]]]));
    const sums = ['ETH', digits(10n ** 28n), 'BTC', digits(7n)];
    expect(await script.call(book, { nowMs: 5 })).toEqual(sums);
    expect(await script.refused(book, { nowMs: 5 })).toEqual(sums);
  });

  test('more than a batch settles in one call', async () => {
    for (let k = 0; k < 101; k++) await script.redis.zadd(book.dueKey, 1, JSON.stringify([k, [['ETH', digits(1n)]]]));
    expect(await script.call(book, { nowMs: 1 })).toEqual(['ETH', digits(101n)]);
  });
});
