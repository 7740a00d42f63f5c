/**
 * The lists in force for a tenant. Each request reads their names and versions (one small record for all evaluators); a process
 * reads a version's entries once.
 */
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { TenantStore } from '../../store/contract.ts';
import { type CatalogRecord, catalogOf, type ListEntry } from '../rules/catalog.ts';
import { storeCache } from '../rules/store-cache.ts';
import { type IndexedList, indexList, type ListVersionRecord, listVersionId, listVersionType } from './list.ts';
import { builtInLists } from './test-lists.ts';

/** Entries that stay in memory, over all tenants and lists. */
const cachedEntriesMax = 300_000;
const indexedLists = storeCache<IndexedList>(cachedEntriesMax);

/** Clears the cache after the store was restored to an earlier state. */
export function evictLists(store: TenantStore): void {
  indexedLists(store).clear();
}

/** The lists of a tenant: its own, and the initial ones that it has not replaced. */
export function listEntries(context: RequestContext, catalog: CatalogRecord): readonly ListEntry[] {
  const { tenant, principal } = context;
  const untouched = builtInLists(tenant, principal.environment)
    .filter(({ name }) => !catalog.lists.some((entry) => entry.name === name))
    .map(({ listId: id, name, kind, entries }) => ({
      id,
      name,
      kind,
      version: 1,
      entryCount: entries.length,
      createdAtMs: 0,
      updatedAtMs: 0,
    }));
  return [...untouched, ...catalog.lists];
}

export async function currentLists(context: RequestContext): Promise<readonly IndexedList[]> {
  const indexed = indexedLists(context.store);
  const entries = listEntries(context, await catalogOf(context));
  const found = entries.map((entry) => indexed.get(cacheKey(context, entry.id, entry.version)));
  const missing = entries.filter((_, index) => found[index] === undefined);
  const loaded = new Map<string, IndexedList>();
  await Promise.all(
    missing.map(async ({ id, version }) => {
      const list = await listVersion(context, id, version);
      if (list === undefined) throw new Error(`list ${id} has no version ${version}`);
      const searchable = indexList(list);
      indexed.set(cacheKey(context, id, version), searchable, { size: Math.max(1, searchable.entryCount) });
      loaded.set(id, searchable);
    }),
  );
  return entries.map((entry, index) => found[index] ?? loaded.get(entry.id)!);
}

/** One version, with its entries; undefined when there is none. */
export async function listVersion(
  context: RequestContext,
  listId: string,
  version: number,
): Promise<ListVersionRecord | undefined> {
  const { tenant, principal, store } = context;
  const builtIn = builtInLists(tenant, principal.environment).find((list) => list.listId === listId);
  if (builtIn !== undefined && version === 1) return builtIn;
  return await store.read(tenant, listVersionType, listVersionId(listId, version));
}

function cacheKey({ tenant }: RequestContext, listId: string, version: number): string {
  return `${tenant} ${listVersionId(listId, version)}`;
}
