/** Making, changing and removing risk rules: every change is a version of the rule and of the whole set. */
import type { Static } from 'typebox';
import { eventOf } from '../../../gateway/api/event.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { Change, RecordType, Versioned } from '../../store/contract.ts';
import {
  type CatalogEntry,
  type CatalogRecord,
  catalogLimits,
  catalogOf,
  catalogPut,
  versionKey,
  withEntry,
} from '../rules/catalog.ts';
import { compileRule } from '../rules/rule.ts';
import { type RiskRuleRecord, riskRuleType } from './rule-record.ts';
import type { RiskRuleBody, RiskRulePatch } from './schemas.ts';
import type { CompiledRiskRule } from './score.ts';
import { riskRuleView } from './view.ts';

const priorityDefault = 100;

export interface WrittenRule {
  readonly rule: CompiledRiskRule;
  readonly change: Change;
}

/** A new name is version 1, the same name makes the next version. Throws ServiceError 400 or 409. */
export async function writeRule(context: RequestContext, body: Static<typeof RiskRuleBody>): Promise<WrittenRule> {
  const rule = compileRule(body.when, 'risk', 'when');
  const catalog = await catalogOf(context);
  const before = catalog.riskRules.find(({ name }) => name === body.name);
  const { nowMs } = context;
  const entry: CatalogEntry = {
    id: before?.id ?? context.newId('rul'),
    name: body.name,
    version: (before?.version ?? 0) + 1,
    createdAtMs: before?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
  const record = versionOf(entry, {
    when: body.when,
    points: body.points,
    action: body.action ?? null,
    priority: body.priority ?? priorityDefault,
    mode: body.mode ?? 'enforce',
  });
  return written(context, catalog, entry, { record, rule });
}

export function patchRule(
  context: RequestContext,
  catalog: CatalogRecord,
  before: CatalogEntry,
  { record, rule }: CompiledRiskRule,
  patch: Static<typeof RiskRulePatch>,
): WrittenRule {
  const { when, points, action, priority, mode } = record;
  const entry = { ...before, version: before.version + 1, updatedAtMs: context.nowMs };
  const next = versionOf(entry, {
    when,
    action,
    points: patch.points ?? points,
    priority: patch.priority ?? priority,
    mode: patch.mode ?? mode,
  });
  return written(context, catalog, entry, { record: next, rule });
}

export function removeRule(
  context: RequestContext,
  catalog: CatalogRecord,
  entry: CatalogEntry,
  rule: CompiledRiskRule,
): Change {
  const changes = {
    riskRules: catalog.riskRules.filter(({ id }) => id !== entry.id),
    riskRulesVersion: catalog.riskRulesVersion + 1,
  };
  return { puts: [catalogPut(catalog, changes)], events: [ruleEvent(context, 'risk.rule.deleted', entry, rule)] };
}

type RuleTerms = Pick<RiskRuleRecord, 'when' | 'points' | 'action' | 'priority' | 'mode'>;

function versionOf(entry: CatalogEntry, terms: RuleTerms): RiskRuleRecord {
  const { id: ruleId, version: ruleVersion, name, createdAtMs, updatedAtMs } = entry;
  return {
    id: versionKey(ruleId, ruleVersion),
    version: 1,
    ruleId,
    ruleVersion,
    name,
    ...terms,
    createdAtMs,
    updatedAtMs,
  };
}

function written(
  context: RequestContext,
  catalog: CatalogRecord,
  entry: CatalogEntry,
  rule: CompiledRiskRule,
): WrittenRule {
  const changes = {
    riskRules: withEntry(catalog.riskRules, entry, catalogLimits.riskRules),
    riskRulesVersion: catalog.riskRulesVersion + 1,
  };
  const type = entry.version === 1 ? 'risk.rule.created' : 'risk.rule.updated';
  const change: Change = {
    puts: [
      catalogPut(catalog, changes),
      { type: riskRuleType as unknown as RecordType<Versioned>, before: undefined, after: rule.record },
    ],
    events: [ruleEvent(context, type, entry, rule)],
  };
  return { rule, change };
}

function ruleEvent(context: RequestContext, type: string, entry: CatalogEntry, rule: CompiledRiskRule) {
  return eventOf(context, { type, resource: 'risk_rule', record: entry, object: riskRuleView(rule) });
}
