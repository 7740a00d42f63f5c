/**
 * A cache of data derived from the records of a store (compiled rules, indexed lists); evicts the least recently used first.
 * Each store has a cache of its own, so that two gateways in one process share nothing.
 *
 * Keys name immutable versions, so nothing cached goes out of date. Only restoring a store to an earlier state can reuse such a
 * name; then the cache is cleared.
 */
import { LRUCache } from 'lru-cache';
import type { TenantStore } from '../../store/contract.ts';

/**
 * @param maxSize the sum of the sizes that stay; a value that is larger alone is not cached
 * @returns the cache of a store, made at first use
 */
export function storeCache<V extends object>(maxSize: number): (store: TenantStore) => LRUCache<string, V> {
  const caches = new WeakMap<TenantStore, LRUCache<string, V>>();
  return (store) => {
    let cache = caches.get(store);
    if (cache === undefined) {
      cache = new LRUCache({ maxSize });
      caches.set(store, cache);
    }
    return cache;
  };
}
