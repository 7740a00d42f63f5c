/**
 * The risk rules in force for a tenant. Each request reads their names and versions; a version is read and compiled once per
 * store and process.
 */
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { TenantStore } from '../../store/contract.ts';
import { type CatalogEntry, catalogOf, versionKey } from '../rules/catalog.ts';
import { storeCache } from '../rules/store-cache.ts';
import { storedRule } from '../rules/stored-rules.ts';
import { type RiskRuleRecord, riskRuleType } from './rule-record.ts';
import type { CompiledRiskRule } from './score.ts';

/** Characters of rules that stay in memory, over all tenants. */
const cachedCharsMax = 500_000;
const compiledRules = storeCache<CompiledRiskRule>(cachedCharsMax);

/** Clears the cache after the store was restored to an earlier state. */
export function evictRiskRules(store: TenantStore): void {
  compiledRules(store).clear();
}

/** In force or in shadow, and the version of the whole set. */
export async function currentRiskRules(
  context: RequestContext,
): Promise<{ readonly rules: readonly CompiledRiskRule[]; readonly version: number }> {
  const { riskRules, riskRulesVersion: version } = await catalogOf(context);
  const rules = await riskRulesOf(context, riskRules);
  return { rules: rules.filter(({ record }) => record.mode !== 'disabled'), version };
}

/** In the order of the entries. */
export async function riskRulesOf(
  { tenant, store }: RequestContext,
  entries: readonly CatalogEntry[],
): Promise<readonly CompiledRiskRule[]> {
  const compiled = compiledRules(store);
  const key = ({ id, version }: CatalogEntry): string => `${tenant} ${versionKey(id, version)}`;
  const known = entries.map((entry) => compiled.get(key(entry)));
  const missing = entries.filter((_, index) => known[index] === undefined);
  const ids = missing.map(({ id, version }) => versionKey(id, version));
  const records = ids.length === 0 ? [] : await store.readMany(tenant, riskRuleType, ids);
  const fresh = new Map<string, CompiledRiskRule>();
  for (const [index, entry] of missing.entries()) {
    const record: RiskRuleRecord | undefined = records[index];
    if (record === undefined) throw new Error(`risk rule ${entry.id} has no version ${entry.version}`);
    const rule = { record, rule: storedRule(store, record.when, 'risk') };
    compiled.set(key(entry), rule, { size: key(entry).length + record.when.length });
    fresh.set(entry.id, rule);
  }
  return entries.map((entry, index) => known[index] ?? fresh.get(entry.id)!);
}
