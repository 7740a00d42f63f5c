/**
 * A least-recently-used cache with a bounded number of entries. It counts by size, since lru-cache's `max` allocates room for
 * every entry at once: a simulated cluster makes more than fifteen of these for each run, and 100,000 entries take 2.8 MB.
 */
import { LRUCache } from 'lru-cache';

const oneEach = (): number => 1;

export function recentlyUsed<V extends object | string | number>(entriesMax: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: oneEach });
}
