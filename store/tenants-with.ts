/** Which tenants have records in an index. Nothing lists the tenants: they are found by their keys. */
import type { Redis } from 'ioredis';
import { storeKeys } from './layout.ts';

/** Sorted. Scans the whole database: for commands alone. */
export async function tenantsWith(redis: Redis, ...indices: readonly string[]): Promise<readonly string[]> {
  const tenants = new Set<string>();
  for (const index of indices) {
    const pattern = storeKeys.index('*', index);
    const [head, tail] = pattern.split('*') as [string, string];
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
      for (const key of keys) tenants.add(key.slice(head.length, key.length - tail.length));
      cursor = next;
    } while (cursor !== '0');
  }
  return [...tenants].sort();
}
