/**
 * Which calls of the tenant store a piece of work makes, by its asynchronous context: what runs beside it is left out. Of a call its
 * method counts, and the kind of what it asks for; not the values.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TenantStore } from '../../wallets/store/contract.ts';

export type WatchStore = <T>(
  work: () => Promise<T>,
) => Promise<{ readonly result: T; readonly calls: readonly string[] }>;

/** From now on calls of this store are seen. */
export function watchStore(store: TenantStore): WatchStore {
  const current = new AsyncLocalStorage<string[]>();
  const methods = new Set<string>();
  for (let of = Object.getPrototypeOf(store); of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    for (const name of Object.getOwnPropertyNames(of)) if (name !== 'constructor') methods.add(name);
  }
  const plain = store as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of methods) {
    const method = plain[name];
    if (typeof method !== 'function') continue;
    plain[name] = (...args) => {
      current.getStore()?.push(`${name}(${args.map(kindOf).join()})`);
      return method.apply(store, args);
    };
  }
  return async (work) => {
    const calls: string[] = [];
    return { result: await current.run(calls, work), calls };
  };
}

/** The name of a record's type, how many ids of a list, what is ordered of a query. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value !== 'object' || value === null) return typeof value;
  if ('name' in value && typeof value.name === 'string') return value.name;
  return Object.keys(value).sort().join('+');
}
