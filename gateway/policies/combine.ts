/** What two policies say together, and what nobody could approve. Pure. */
import type { PolicyDecision, TransactionFacts } from '../intents/facts.ts';
import { strictest } from './evaluate.ts';

const strength = { allow: 0, require_approval: 1, deny: 2 } as const;

/**
 * The stricter of both: deny beats require_approval beats allow, and two that ask for approvals ask together, as several
 * rules of one policy do. The decision stays the first policy's and names the other one. Rules are named with their
 * policies: ids of rules have no slash.
 */
export function stricter(own: PolicyDecision, other: PolicyDecision): PolicyDecision {
  const [ownName, otherName] = [own.policy.name, other.policy.name];
  const asking = [own, other].flatMap(({ approvals }) => approvals ?? []);
  const terms = asking.length === 0 ? undefined : strictest(asking);
  const gravest = strength[own.decision] >= strength[other.decision] ? own.decision : other.decision;
  const isImpossible = gravest === 'require_approval' && terms === undefined;
  const reason = `policy ${ownName}: ${own.reason}; policy ${otherName}: ${other.reason}`;
  const dryRun = own.dryRun ?? other.dryRun;
  return {
    ...own,
    decision: isImpossible ? 'deny' : gravest,
    alsoPolicy: other.policy,
    matchedRules: [...new Set([...named(ownName, own.matchedRules), ...named(otherName, other.matchedRules)])],
    trace: [
      ...own.trace.map((line) => ({ ...line, rule: ruleOf(ownName, line.rule) })),
      ...other.trace
        .filter(({ rule }) => !isNobodys(rule))
        .map((line) => ({ ...line, rule: ruleOf(otherName, line.rule) })),
    ],
    approvals: gravest === 'require_approval' ? terms : undefined,
    reason: isImpossible ? `${reason}; no approvers satisfy both` : reason,
    ...(dryRun === undefined ? {} : { dryRun }),
  };
}

/** Who makes an intent has no vote on it. Approvals that cannot come together without that vote are a denial. */
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
    reason: `${decided.reason}; only ${voters} of the approvers may vote, since who asks has no vote`,
  };
}

/** Rules that stand in no policy have a colon. */
function isNobodys(rule: string): boolean {
  return rule.includes(':');
}

function ruleOf(policy: string, rule: string): string {
  return isNobodys(rule) ? rule : `${policy}/${rule}`;
}

function named(policy: string, rules: readonly string[]): readonly string[] {
  return rules.map((rule) => ruleOf(policy, rule));
}
