/** The risk score: built-in factors and the tenant's rules, added up. Pure. */
import type { RiskFactor, RiskResult } from '../../custody/intents/public.ts';
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

export function scoreOf(
  input: FactorInput,
  ruleInput: RuleInput,
  rules: readonly CompiledRiskRule[],
  rulesVersion: number,
): RiskResult {
  const found = rules.map((rule) => ({ ...rule, match: matchOf(rule, ruleInput) })).filter(({ match }) => match.counts);
  const factors = [...builtInFactorsOf(input), ...found.map(({ record, match }) => factorOf(record, match))];
  const sum = factors.reduce((total, { contribution }) => total + contribution, 0);
  const score = Math.max(0, Math.min(scoreMax, sum));
  const { level, action } = riskLevels.find(({ from }) => score >= from)!;
  const asked = found
    .map(({ record }) => record)
    .filter((record) => record.mode === 'enforce' && record.action !== null);
  const [first] = asked.toSorted((a, b) => a.priority - b.priority || strictness[b.action!] - strictness[a.action!]);
  return { txId: input.facts.id, score, level, action: first?.action ?? action, factors, rulesVersion };
}

interface Match {
  readonly counts: boolean;
  readonly evidence: string;
}

/**
 * A rule that cannot be evaluated counts only if it makes the score higher or the action stricter.
 */
function matchOf({ record, rule }: CompiledRiskRule, input: RuleInput): Match {
  const value = rule.evaluate(input);
  if (typeof value === 'boolean') return { counts: value, evidence: shortened(record.when) };
  const isStrict = record.points >= 0 && record.action !== 'allow';
  return { counts: isStrict, evidence: `could not be evaluated: ${value.failure}` };
}

const evidenceCharsMax = 200;

function shortened(text: string): string {
  return text.length > evidenceCharsMax ? `${text.slice(0, evidenceCharsMax)}…` : text;
}

function factorOf({ name, points, mode }: RiskRuleRecord, { evidence }: Match): RiskFactor {
  const code = `rule:${name}`;
  if (mode === 'enforce') return { code, contribution: points, evidence };
  return { code, contribution: 0, evidence: `shadow, would add ${points}: ${evidence}` };
}
