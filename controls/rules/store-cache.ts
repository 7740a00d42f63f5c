/**
 * What was made from the records of a store and can be made again (compiled rules, indexed lists), least recently used
 * first out. Each store has a cache of its own, so that two gateways in one process share nothing.
 *
 * Keys name immutable versions, so nothing cached goes out of date. Only a store that is put back to an earlier state can
 * give such a name to something else; then the cache is cleared.
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
