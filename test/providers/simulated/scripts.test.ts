/** The script of the records of simulated custodians. */
import { expect, test } from 'vitest';
import { describeScript } from '../../support/redis-script.ts';

describeScript('providers/simulated/put-once.lua', (script) => {
  const keys = { recordKey: '{a}record', counterKey: '{a}count' };

  test('the first record stays, with its number; others get it too and take no number', async () => {
    expect(await script.call(keys, { json: 'first', ttlMs: 0 })).toEqual(['first', '1']);
    expect(await script.refused(keys, { json: 'second', ttlMs: 5 })).toEqual(['first', '1']);
    expect(await script.redis.pttl(keys.recordKey)).toBe(-1);
    expect(await script.call({ ...keys, recordKey: '{a}other' }, { json: 'x', ttlMs: 60_000 })).toEqual(['x', '2']);
    expect(await script.redis.pttl('{a}other')).toBeGreaterThan(50_000);
  });
});
