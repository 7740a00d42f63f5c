/** Scores and risk rules as the API shows them. */
import { timestamp } from '../../../proto/timestamps.ts';
import type { RiskResult } from '../../custody/intents/public.ts';
import type { Rule } from '../rules/rule.ts';
import type { RiskRuleRecord } from './rule-record.ts';
import type { CompiledRiskRule } from './score.ts';

export function riskView(
  { txId, score, level, action, factors, rulesVersion }: RiskResult,
  createdAtMs: number,
): object {
  return {
    tx_id: txId,
    score,
    level,
    action,
    factors: factors.map(({ code, contribution, evidence }) => ({ code, contribution, evidence })),
    rules_version: rulesVersion,
    created_at: timestamp(createdAtMs),
  };
}

export function riskRuleView({ record, rule }: CompiledRiskRule): {
  readonly id: string;
  readonly [field: string]: unknown;
} {
  return {
    id: record.ruleId,
    name: record.name,
    when: record.when,
    points: record.points,
    action: record.action,
    priority: record.priority,
    mode: record.mode,
    version: record.ruleVersion,
    warnings: warningsOf(record, rule),
    created_at: timestamp(record.createdAtMs),
    updated_at: timestamp(record.updatedAtMs),
  };
}

/** Risk rules add up, so none hides another: warns only about rules that do not depend on the transaction. */
function warningsOf({ name }: RiskRuleRecord, { constant }: Rule): readonly object[] {
  if (constant === undefined) return [];
  return constant
    ? [{ rule: name, code: 'always_matches', message: 'the condition holds for every transaction' }]
    : [{ rule: name, code: 'never_matches', message: 'the condition holds for no transaction' }];
}
