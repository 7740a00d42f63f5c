/** The risk score: built-in factors and the tenant's rules, added up. Pure. */
import type { RiskFactor, RiskResult, RiskRuleAction } from '../../custody/intents/public.ts';
import type { RuleInput } from '../rules/cel.ts';
import type { Rule } from '../rules/rule.ts';
import { builtInFactorsOf, type FactorInput } from './factors.ts';
import type { RiskAction, RiskRuleRecord } from './rule-record.ts';

export interface CompiledRiskRule {
  readonly record: RiskRuleRecord;
  readonly rule: Rule;
}

export interface RiskLevel {
  readonly level: RiskResult['level'];
  /** The lowest score of the level. */
  readonly from: number;
  readonly action: RiskAction;
}

/** Highest first. */
export const riskLevels: readonly RiskLevel[] = [
  { level: 'critical', from: 90, action: 'deny' },
  { level: 'high', from: 70, action: 'review' },
  { level: 'medium', from: 40, action: 'allow' },
  { level: 'low', from: 0, action: 'allow' },
];

export const scoreMax = 100;

const strictness: Readonly<Record<RiskAction, number>> = { allow: 0, review: 1, deny: 2 };

/** `seen`: the transaction in each way that rules see it; a rule that matches one of them counts. */
export function scoreOf(
  input: FactorInput,
  seen: readonly RuleInput[],
  rules: readonly CompiledRiskRule[],
  rulesVersion: number,
): RiskResult {
  const found = rules
    .flatMap(({ record, rule }) => {
      const value = seen.map((one) => rule.evaluate(one)).find((one) => one !== false);
      return value === undefined ? [] : [{ record, value }];
    })
    .toSorted((a, b) => a.record.priority - b.record.priority);
  const factors = [...builtInFactorsOf(input), ...found.map(({ record, value }) => factorOf(record, value))];
  const sum = factors.reduce((total, { contribution }) => total + contribution, 0);
  const score = Math.max(0, Math.min(scoreMax, sum));
  const { level, action: byLevel } = riskLevels.find(({ from }) => score >= from)!;
  const ruleActions = found.flatMap(({ record, value }) => actionOf(record, value));
  const action = [byLevel, ...ruleActions.map((one) => one.action)].reduce((a, b) =>
    strictness[a] >= strictness[b] ? a : b,
  );
  return { txId: input.facts.id, score, level, action, ruleActions, factors, rulesVersion };
}

/** `true`: the rule matches. One that cannot be evaluated counts as far as it makes the decision stricter. */
type Match = Exclude<ReturnType<Rule['evaluate']>, false>;

function actionOf({ name: rule, action, mode }: RiskRuleRecord, value: Match): readonly RiskRuleAction[] {
  if (mode !== 'enforce' || action === null || action === 'allow') return [];
  return [{ rule, action, result: value === true ? 'true' : `error: ${value.failure}` }];
}

const evidenceCharsMax = 200;

function shortened(text: string): string {
  return text.length > evidenceCharsMax ? `${text.slice(0, evidenceCharsMax)}…` : text;
}

function factorOf({ name, when, points, mode }: RiskRuleRecord, value: Match): RiskFactor {
  const code = `rule:${name}`;
  const evidence = value === true ? shortened(when) : `could not be evaluated: ${value.failure}`;
  const counted = value === true ? points : Math.max(0, points);
  if (mode === 'enforce') return { code, contribution: counted, evidence };
  return { code, contribution: 0, evidence: `shadow, would add ${counted}: ${evidence}` };
}
