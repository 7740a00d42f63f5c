/**
 * Evaluates a policy for a transaction. Pure.
 *
 * Every rule is evaluated; their order has no effect. deny beats require_approval beats allow, and without a match the result
 * is deny. A rule that cannot be evaluated matches if it denies or requires approval, and never if it allows. A transaction
 * that compliance blocks is denied regardless of the rules.
 *
 * Some kinds are open only to rules that name them: a rule that would match a transaction of any kind, or of all but some, says
 * nothing about what its author did not think of. Without a rule that names the kind, such a transaction is denied.
 */
import type { PolicyDecision, PolicyTraceLine, ScreeningDecision } from '../../custody/intents/public.ts';
import type { RuleInput } from '../rules/cel.ts';
import type { Rule } from '../rules/rule.ts';
import type { ApprovalTerms, PolicyEffect, PolicyRule, PolicyVersionRecord } from './record.ts';

export interface CompiledPolicy {
  readonly record: PolicyVersionRecord;
  readonly rules: readonly { readonly rule: PolicyRule; readonly condition: Rule }[];
}

export type PolicyVerdict = Pick<PolicyDecision, 'decision' | 'matchedRules' | 'trace' | 'approvals' | 'reason'>;

/** The name of the implicit rule in traces; ids of rules have no colon. */
export const complianceRule = 'compliance:blocked';

/** A kind that only rules which name it allow, and the same transaction of a kind that there is not. */
export interface KindToName {
  readonly kind: string;
  readonly ofNoKind: RuleInput;
}

export function evaluatePolicy(
  policy: CompiledPolicy,
  input: RuleInput,
  screening: ScreeningDecision,
  toName?: KindToName,
): PolicyVerdict {
  const evaluated = policy.rules.map(({ rule, condition }) => evaluateRule(rule, condition, input, toName));
  const floor: readonly Evaluated[] =
    screening === 'blocked'
      ? [
          {
            rule: { id: complianceRule, effect: 'deny', approvals: null },
            matched: true,
            opens: false,
            result: 'blocked',
          },
        ]
      : [];
  const lines = [...floor, ...evaluated];
  const trace: readonly PolicyTraceLine[] = lines.map(({ rule, matched, result }) => ({
    rule: rule.id,
    effect: rule.effect,
    matched,
    result,
  }));
  const matching = (effect: PolicyEffect): readonly Evaluated[] =>
    lines.filter(({ rule, matched }) => matched && rule.effect === effect);
  const verdict = (decision: PolicyEffect, matched: readonly Evaluated[], reason: string): PolicyVerdict => ({
    decision,
    matchedRules: matched.map(({ rule }) => rule.id),
    trace,
    approvals: undefined,
    reason,
  });

  const denying = matching('deny');
  if (denying.length > 0) return verdict('deny', denying, `denied by ${names(denying)}`);
  if (!lines.some(({ opens }) => opens)) {
    const which = toName === undefined ? 'matches' : `that matches names the kind "${toName.kind}"`;
    return verdict('deny', [], `no rule ${which}, so the default is to deny`);
  }
  const asking = matching('require_approval');
  if (asking.length > 0) {
    const terms = strictest(asking.flatMap(({ rule }) => rule.approvals ?? []));
    if (terms === undefined) {
      return verdict('deny', asking, `no approvers satisfy ${names(asking)} together`);
    }
    const plural = terms.quorum === 1 ? 'approval' : 'approvals';
    const asked = verdict('require_approval', asking, `${terms.quorum} ${plural} needed by ${names(asking)}`);
    return { ...asked, approvals: terms };
  }
  const allowing = matching('allow');
  return verdict('allow', allowing, `allowed by ${names(allowing)}`);
}

interface Evaluated {
  readonly rule: Pick<PolicyRule, 'id' | 'effect' | 'approvals'>;
  readonly matched: boolean;
  /** It lets the transaction pass, at once or with approvals. */
  readonly opens: boolean;
  readonly result: string;
}

function evaluateRule(rule: PolicyRule, condition: Rule, input: RuleInput, toName: KindToName | undefined): Evaluated {
  const value = condition.evaluate(input);
  const { effect } = rule;
  if (typeof value !== 'boolean') {
    const matched = effect !== 'allow';
    return {
      rule,
      matched,
      opens: matched && effect !== 'deny' && toName === undefined,
      result: `error: ${value.failure}`,
    };
  }
  const opens = value && effect !== 'deny' && (toName === undefined || namesKind(condition, toName));
  if (value && !opens && effect === 'allow') {
    return { rule, matched: false, opens, result: `true, but does not name the kind "${toName?.kind}"` };
  }
  return { rule, matched: value, opens, result: String(value) };
}

/** It compares the kind with this one, and that is why it matches: a negation names a kind to exclude it. */
function namesKind(condition: Rule, { kind, ofNoKind }: KindToName): boolean {
  return condition.kinds.has(kind) && condition.evaluate(ofNoKind) === false;
}

function names(lines: readonly Evaluated[]): string {
  return `rule${lines.length === 1 ? '' : 's'} ${lines.map(({ rule }) => rule.id).join(', ')}`;
}

/**
 * All terms at once: the highest quorum, only approvers whom every rule that names approvers names, the shortest time.
 * Undefined when no approver could satisfy that.
 */
export function strictest(terms: readonly ApprovalTerms[]): ApprovalTerms | undefined {
  const quorum = Math.max(...terms.map((term) => term.quorum));
  const timeoutS = Math.min(...terms.map((term) => term.timeoutS));
  const named = terms.map(({ approvers }) => approvers).filter((approvers) => approvers.length > 0);
  if (named.length === 0) return { quorum, approvers: [], timeoutS };
  const approvers = named[0]!.filter((approver) => named.every((others) => others.includes(approver)));
  return approvers.length < quorum ? undefined : { quorum, approvers, timeoutS };
}
