/** Combines the decisions of several policies, and detects approvals that no token could give. Pure. */
import type { PolicyDecision, TransactionFacts } from '../../custody/intents/public.ts';
import { type PolicyVerdict, strictest } from './evaluate.ts';

const strength = { allow: 0, require_approval: 1, deny: 2 } as const;

/**
 * The strictest decision: deny beats require_approval beats allow. Several approval requirements combine like several rules of
 * one policy: the highest quorum, approvers whom all of them accept, the shortest time; if no approver could satisfy that, the
 * decision is deny. The decision is the first policy's and names the others. Of several policies, rules are named with theirs:
 * ids of rules have no slash. At least one decision.
 */
export function strictestOf(decisions: readonly PolicyDecision[]): PolicyDecision {
  const [first, ...others] = decisions;
  if (first === undefined) throw new Error('no policy has decided');
  if (others.length === 0) return first;
  return {
    ...first,
    ...jointly(decisions, decisions.map(({ policy, reason: why }) => `policy ${policy.name}: ${why}`).join('; ')),
    alsoPolicies: others.map(({ policy }) => policy),
    matchedRules: [
      ...new Set(
        decisions.flatMap(({ policy, matchedRules }) => matchedRules.map((rule) => ruleOf(policy.name, rule))),
      ),
    ],
    trace: decisions.flatMap(({ policy, trace }, index) =>
      trace
        // What stands in no policy stands in every trace: once is enough.
        .filter(({ rule }) => index === 0 || !isImplicit(rule))
        .map((line) => ({ ...line, rule: ruleOf(policy.name, line.rule) })),
    ),
  };
}

/** What one policy says of a permit, as the signature that it is, with what it says of the transfer that this allows. */
export function withTransfer(own: PolicyVerdict, transfer: PolicyVerdict): PolicyVerdict {
  return {
    ...jointly([own, transfer], `${own.reason}; as a transfer, ${transfer.reason}`),
    matchedRules: [...new Set([...own.matchedRules, ...transfer.matchedRules])],
    trace: [...own.trace, ...transfer.trace.map((line) => ({ ...line, result: `as a transfer: ${line.result}` }))],
  };
}

function jointly(
  verdicts: readonly Pick<PolicyVerdict, 'decision' | 'approvals'>[],
  reason: string,
): Pick<PolicyVerdict, 'decision' | 'approvals' | 'reason'> {
  const terms = verdicts.flatMap(({ approvals }) => approvals ?? []);
  const approvals = terms.length === 0 ? undefined : strictest(terms);
  const gravest = verdicts.map(({ decision }) => decision).reduce((a, b) => (strength[a] >= strength[b] ? a : b));
  const isImpossible = gravest === 'require_approval' && approvals === undefined;
  return {
    decision: isImpossible ? 'deny' : gravest,
    approvals: gravest === 'require_approval' ? approvals : undefined,
    reason: isImpossible ? `${reason}; no approvers satisfy all of them` : reason,
  };
}

/** The initiator of an intent has no vote on it. If the quorum is impossible without that vote, the decision is deny. */
export function withVoters(
  { initiator }: Pick<TransactionFacts, 'initiator'>,
  decided: PolicyDecision,
): PolicyDecision {
  const { approvals, decision } = decided;
  if (decision !== 'require_approval' || approvals === undefined || approvals.approvers.length === 0) return decided;
  const voters = approvals.approvers.filter((approver) => approver !== initiator).length;
  if (voters >= approvals.quorum) return decided;
  return {
    ...decided,
    decision: 'deny',
    approvals: undefined,
    reason: `${decided.reason}; only ${voters} of the approvers may vote, since the initiator has no vote`,
  };
}

/** Rules that stand in no policy have a colon. */
function isImplicit(rule: string): boolean {
  return rule.includes(':');
}

function ruleOf(policy: string, rule: string): string {
  return isImplicit(rule) ? rule : `${policy}/${rule}`;
}
