/** A Redis Cluster that has a new master: what a process has registered lately may be lost, and is registered again. */
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { unsettledMs } from '../../../core/redis/due-work.ts';
import { dueKeys, RedisDueWork } from '../../../core/redis/redis-due-work.ts';
import { slotOf } from '../../../core/redis/slots.ts';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';

const { tenantsKey } = dueKeys('work');

/** The in-memory Redis as a cluster's client, whose masters the test names. */
function cluster() {
  let elapsedMs = 0;
  const redis = new MemoryRedis({ nowMs: () => 1_000_000 + elapsedMs }).client();
  const listeners: (() => void)[] = [];
  const slots: string[][] = [];
  const parts = { isCluster: true, slots, on: (_event: string, listener: () => void) => listeners.push(listener) };
  const client = Object.assign(redis, parts) as unknown as Redis;
  const due = new RedisDueWork(client, 'work', { elapsedMs: () => elapsedMs });
  return {
    due,
    redis,
    passes: (ms: number) => {
      elapsedMs += ms;
    },
    refreshes: async (master: string) => {
      slots[slotOf(tenantsKey)] = [master, 'replica:1'];
      for (const listener of listeners) listener();
      await new Promise(setImmediate);
    },
    registered: () => redis.zrange(tenantsKey, '0', '-1', 'WITHSCORES'),
  };
}

test('the tenants of the last 30 s are registered as due at once with the new master, and no others', async () => {
  const { due, redis, passes, refreshes, registered } = cluster();
  await refreshes('a:1');
  for (const tenant of ['old', 'late', 'later']) {
    await due.registered(tenant, 9_000_000, async () => undefined);
    passes(unsettledMs / 2);
  }
  // The same master: nothing is lost.
  await redis.del(tenantsKey);
  await refreshes('a:1');
  expect(await registered()).toEqual([]);
  await refreshes('b:1');
  expect(await registered()).toEqual(['later', '0']);
  await redis.del(tenantsKey);
  await refreshes('b:1');
  expect(await registered()).toEqual([]);
});

test('if that fails, the next call of the process does it first', async () => {
  const { due, redis, refreshes, registered } = cluster();
  await refreshes('a:1');
  await due.registered('t', 9_000_000, async () => undefined);
  await redis.del(tenantsKey);
  // Not the set that it should be: every registration fails.
  await redis.set(tenantsKey, 'x');
  await refreshes('b:1');
  await redis.del(tenantsKey);
  const written: string[][] = [];
  await due.registered('u', 8_000_000, async () => void written.push(await registered()));
  expect(written).toEqual([['t', '0', 'u', '8000000']]);
});
