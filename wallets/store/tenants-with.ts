/** The tenants with records in an index. No list of tenants exists: this finds them by their keys. */
import type { Redis } from 'ioredis';
import { mastersOf } from '../../core/redis/connect.ts';
import { storeKeys } from './layout.ts';

/** Sorted. Scans the whole database: only for commands. */
export async function tenantsWith(redis: Redis, ...indices: readonly string[]): Promise<readonly string[]> {
  const tenants = new Set<string>();
  for (const index of indices) {
    const pattern = storeKeys.index('*', index);
    const [head, tail] = pattern.split('*') as [string, string];
    for (const master of mastersOf(redis)) {
      let cursor = '0';
      do {
        const [next, keys] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
        for (const key of keys) tenants.add(key.slice(head.length, key.length - tail.length));
        cursor = next;
      } while (cursor !== '0');
    }
  }
  return [...tenants].sort();
}
