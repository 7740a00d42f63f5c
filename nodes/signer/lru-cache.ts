/**
 * A least-recently-used cache with a bounded number of entries. It counts by size, since lru-cache's `max` allocates room for
 * every entry at once: a simulated cluster makes fifteen of these for each run.
 */
import { LRUCache } from 'lru-cache';

const oneEach = (): number => 1;

export function recentlyUsed<V extends object>(entriesMax: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: oneEach });
}
