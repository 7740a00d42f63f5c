/**
 * The catalog of a tenant's policies, compliance lists and risk rules: each by name with its newest version. It is one small
 * record, so that one read gives a gateway all versions in force; the contents of a version never change, and processes cache
 * them. One record also makes names unique and versions consecutive: two concurrent writers cannot both succeed.
 *
 * The initial entries of every tenant (the default policy, a sandbox's test lists) are not stored: the modules add them until
 * the tenant makes its own version.
 */
import { createHash } from 'node:crypto';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { type IdPrefix, newId } from '../../../proto/ids.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import type { Guard, Put, RecordType, Versioned } from '../../store/contract.ts';

/** `id` stays the same over all versions; `version` counts them from 1. */
export interface CatalogEntry {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface PolicyEntry extends CatalogEntry {
  /** The newest version that is enforced; null while all of them were dry runs. */
  readonly enforcedVersion: number | null;
}

export interface ListEntry extends CatalogEntry {
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly entryCount: number;
}

export interface CatalogRecord extends Versioned {
  readonly policies: readonly PolicyEntry[];
  readonly lists: readonly ListEntry[];
  readonly riskRules: readonly CatalogEntry[];
  /** Rises by one with every change of a risk rule; 1 is the built-in factors alone. */
  readonly riskRulesVersion: number;
}

/** How many of each a tenant may have. */
export const catalogLimits = { policies: 200, lists: 50, riskRules: 100 } as const;

const catalogId = 'judges';

export const catalogType: RecordType<CatalogRecord> = { name: 'judges', status: () => '', indices: () => [] };

const empty: CatalogRecord = { id: catalogId, version: 0, policies: [], lists: [], riskRules: [], riskRulesVersion: 1 };

const readOnce = new WeakMap<RequestContext, Promise<CatalogRecord>>();

/** As stored. All evaluators of one request use the same one. */
export function catalogOf(context: RequestContext): Promise<CatalogRecord> {
  const known = readOnce.get(context);
  if (known !== undefined) return known;
  const reading = context.store.read(context.tenant, catalogType, catalogId).then((record) => record ?? empty);
  readOnce.set(context, reading);
  return reading;
}

/** A decision with these policies, lists and rules is committed only while they are in force. */
export async function catalogGuard(context: RequestContext): Promise<Guard> {
  return { kind: 'version', id: catalogId, version: (await catalogOf(context)).version };
}

export function catalogPut(before: CatalogRecord, changes: Partial<Omit<CatalogRecord, keyof Versioned>>): Put {
  const after: CatalogRecord = { ...before, ...changes, version: before.version + 1 };
  return {
    type: catalogType as unknown as RecordType<Versioned>,
    before: before.version === 0 ? undefined : before,
    after,
  };
}

/** The entries with this one in the place of its older version, or at the end. Throws ServiceError 409 at the limit. */
export function withEntry<E extends CatalogEntry>(entries: readonly E[], entry: E, countMax: number): readonly E[] {
  if (entries.some(({ id }) => id === entry.id)) return entries.map((old) => (old.id === entry.id ? entry : old));
  if (entries.length >= countMax) {
    throw new ServiceError('conflict', `a tenant has at most ${countMax} of these`, {
      details: [{ field: 'name', issue: 'too_many', message: `at most ${countMax}` }],
    });
  }
  return [...entries, entry];
}

/** Writes a time as the API shows it. */
export type DateOf = (ms: number) => string;

/** Initial entries have the time 0: they date from when the tenant began. */
export async function datesOf({ store, tenant, nowMs }: RequestContext): Promise<DateOf> {
  const beganAtMs = await store.beganAtMs(tenant, nowMs);
  return (ms) => timestamp(ms === 0 ? beganAtMs : ms);
}

/** Newest first, as lists show them. */
export function newestFirst<E extends CatalogEntry>(entries: readonly E[]): readonly E[] {
  return entries.toSorted((a, b) => (a.id < b.id ? 1 : -1));
}

/** A page of entries that are all in memory. */
export function pageOfEntries<E extends CatalogEntry>(
  entries: readonly E[],
  query: { readonly limit: number; readonly afterId?: string },
): { readonly items: readonly E[]; readonly hasMore: boolean; readonly nextId: string | undefined } {
  const { limit, afterId } = query;
  const rest = afterId === undefined ? entries : entries.filter(({ id }) => id < afterId);
  const items = rest.slice(0, limit);
  return { items, hasMore: rest.length > limit, nextId: items.at(-1)?.id };
}

/** The key of one version's content. */
export function versionKey(id: string, version: number): string {
  return `${id}.v${version}`;
}

/** The id of an initial entry: deterministic, unique to the tenant, and older than all others. */
export function builtInId(prefix: IdPrefix, tenant: string, name: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([tenant, name]))
    .digest();
  return newId(prefix, 0, (length) => digest.subarray(0, length));
}
