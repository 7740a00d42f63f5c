/** The scripts that take a private Redis whole, and clear it. */
import { expect, test } from 'vitest';
import { describeScript } from '../support/redis-script.ts';

describeScript(
  'cli/up/dump.lua',
  (script) => {
    test('all keys, each with what is left of its life and its value', async () => {
      await script.redis.set('a', '1');
      await script.redis.set('b', '2', 'PX', 60_000);
      const reply = (await script.refused({}, {})) as (string | number)[];
      expect(reply).toHaveLength(6);
      const place = reply.indexOf('b');
      expect(reply[reply.indexOf('a') + 1]).toBe(-1);
      expect(reply[place + 1]).toBeGreaterThan(50_000);
      expect(reply[place + 2]).toBe(await script.redis.call('DUMP', 'b'));
    });
  },
  { only: 'Redis' },
);

describeScript(
  'cli/up/clear.lua',
  (script) => {
    test('all keys go but those that a pattern retains', async () => {
      for (const key of ['sm:tok:1', 'sm:token', 'sm:cluster', 'x']) await script.redis.set(key, '1');
      expect(await script.call({}, { retained: ['^sm:tok:', '^sm:cluster$'] })).toBe('OK');
      expect((await script.redis.keys('*')).sort()).toEqual(['sm:cluster', 'sm:tok:1']);
      expect(await script.call({}, { retained: [] })).toBe('OK');
      expect(await script.redis.dbsize()).toBe(0);
    });
  },
  { only: 'Redis' },
);
