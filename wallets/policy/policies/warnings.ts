/** Warnings for a policy's author: rules without effect (see ../rules/reachability.ts). Pure. */
import { follows } from '../rules/reachability.ts';
import type { Rule } from '../rules/rule.ts';
import { strictest } from './evaluate.ts';
import type { PolicyEffect, PolicyRule, PolicyWarning } from './record.ts';

export interface CompiledRule {
  readonly rule: PolicyRule;
  readonly condition: Rule;
}

const strength: Readonly<Record<PolicyEffect, number>> = { allow: 0, require_approval: 1, deny: 2 };

export function warningsOf(rules: readonly CompiledRule[]): readonly PolicyWarning[] {
  const found = rules.flatMap(({ rule, condition }, index): PolicyWarning[] => {
    if (condition.constant === false) {
      return [{ rule: rule.id, code: 'never_matches', message: 'the condition holds for no transaction' }];
    }
    const hiding = rules.find((other, place) => place !== index && hides(other, { rule, condition }, place < index));
    if (hiding === undefined) return [];
    const { id, effect } = hiding.rule;
    const message = `whenever it matches, rule ${id} (${effect}) also matches and decides the same or stricter`;
    return [{ rule: rule.id, code: 'unreachable', message }];
  });
  const opens = rules.some(({ rule }) => rule.effect !== 'deny' && !found.some((warning) => warning.rule === rule.id));
  if (opens) return found;
  return [
    ...found,
    { rule: '', code: 'denies_everything', message: 'no rule can allow a transaction or ask for approval' },
  ];
}

/** Whether `other` makes `rule` redundant. Of two equal rules, the later one is redundant. */
function hides(other: CompiledRule, { rule, condition }: CompiledRule, isEarlier: boolean): boolean {
  if (!follows(condition, other.condition)) return false;
  const difference = strength[other.rule.effect] - strength[rule.effect];
  if (difference !== 0) return difference > 0;
  if (!asksAsMuch(other.rule, rule)) return false;
  const isEqual = follows(other.condition, condition) && asksAsMuch(rule, other.rule);
  return !isEqual || isEarlier;
}

/** Whether the terms of `other` add up to the terms of both. */
function asksAsMuch(other: PolicyRule, rule: PolicyRule): boolean {
  if (other.approvals === null || rule.approvals === null) return true;
  const together = strictest([other.approvals, rule.approvals]);
  return together !== undefined && JSON.stringify(together) === JSON.stringify(other.approvals);
}
