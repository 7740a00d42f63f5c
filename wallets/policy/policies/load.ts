/**
 * The policies in force for a tenant. Each request reads their names and versions; a version is read and compiled once per
 * store and process.
 */
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { TenantStore } from '../../store/contract.ts';
import { type CatalogRecord, catalogOf, type PolicyEntry, versionKey } from '../rules/catalog.ts';
import { storeCache } from '../rules/store-cache.ts';
import { storedRule } from '../rules/stored-rules.ts';
import { builtInEntry, builtInPolicy, defaultPolicyName } from './default-policy.ts';
import type { CompiledPolicy } from './evaluate.ts';
import { type PolicyVersionRecord, policyVersionType } from './record.ts';

/** Characters of policies' rules that stay in memory, over all tenants. */
const cachedCharsMax = 1_000_000;
const compiledPolicies = storeCache<CompiledPolicy>(cachedCharsMax);

/** Clears the cache after the store was restored to an earlier state. */
export function evictPolicies(store: TenantStore): void {
  compiledPolicies(store).clear();
}

/** The policies of a tenant; `default` is there from the beginning. */
export function policyEntries({ tenant }: RequestContext, { policies }: CatalogRecord): readonly PolicyEntry[] {
  const isReplaced = policies.some(({ name }) => name === defaultPolicyName);
  return isReplaced ? policies : [builtInEntry(tenant), ...policies];
}

/** The policy of this name, if the tenant has it. One small read. */
export async function findPolicy(context: RequestContext, name: string): Promise<PolicyEntry | undefined> {
  return policyEntries(context, await catalogOf(context)).find((entry) => entry.name === name);
}

/** Throws Error when there is no such version. */
export async function loadPolicy(context: RequestContext, id: string, version: number): Promise<CompiledPolicy> {
  const key = `${context.tenant} ${versionKey(id, version)}`;
  const compiled = compiledPolicies(context.store);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const record = await policyVersion(context, id, version);
  if (record === undefined) throw new Error(`policy ${id} has no version ${version}`);
  const rules = record.rules.map((rule) => ({ rule, condition: storedRule(context.store, rule.when, 'policy') }));
  const policy = { record, rules };
  const size = record.rules.reduce((chars, { when }) => chars + when.length, key.length);
  compiled.set(key, policy, { size });
  return policy;
}

export async function policyVersion(
  { tenant, store }: RequestContext,
  id: string,
  version: number,
): Promise<PolicyVersionRecord | undefined> {
  const builtIn = builtInPolicy(tenant);
  if (id === builtIn.policyId && version === 1) return builtIn;
  return await store.read(tenant, policyVersionType, versionKey(id, version));
}
