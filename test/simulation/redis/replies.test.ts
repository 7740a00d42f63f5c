/** What a script's results become for the client of the in-memory Redis: as Redis converts them. */
import { expect, test } from 'vitest';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';

test.each<[string, unknown]>([
  ['3.7', 3],
  ['-3.7', -3],
  ['0', 0],
  ['true', 1],
  ['false', null],
  ['nil', null],
  ["'text'", 'text'],
  ["{1, 'a', {2.5, true}}", [1, 'a', [2, 1]]],
  ['{1, nil, 3}', [1]],
  ['{false, 2}', [null, 2]],
  ['{}', []],
  ["{ok = 'FINE'}", 'FINE'],
])('%s becomes %j', async (value, expected) => {
  const redis = new MemoryRedis({ nowMs: () => 0 }).client();
  redis.defineCommand('gives', { numberOfKeys: 1, lua: `return ${value}` });
  const gives = (redis as unknown as { gives(key: string): Promise<unknown> }).gives;
  expect(await gives.call(redis, 'k')).toEqual(expected);
});
