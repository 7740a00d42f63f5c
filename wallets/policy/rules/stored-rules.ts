/** Rules as stored versions have them, compiled once for each store: many tenants and versions share a text. */
import type { TenantStore } from '../../store/contract.ts';
import type { RuleScope } from './cel.ts';
import { compileStored, type Rule } from './rule.ts';
import { storeCache } from './store-cache.ts';

/** Characters of compiled rules that stay, over all tenants: their trees take some hundred bytes each. */
const cachedCharsMax = 500_000;
const compiledRules = storeCache<Rule>(cachedCharsMax);

/** A rule follows from its text alone, so it stays right when the store is put back to an earlier state. */
export function storedRule(store: TenantStore, text: string, scope: RuleScope): Rule {
  const key = `${scope}:${text}`;
  const compiled = compiledRules(store);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const rule = compileStored(text, scope);
  compiled.set(key, rule, { size: key.length });
  return rule;
}
