/**
 * Deciding a transaction: the last of the three judges.
 *
 * A version in mode dry_run decides nothing: what applies is the newest version of the same policy that is enforced, and
 * where there is none, the tenant's `default` policy. So a dry run can neither block a transfer nor let one through; its
 * own verdict is recorded beside the decision.
 *
 * A wallet's policy holds for all of its intents: a policy that an intent names can only make it stricter.
 */
import { ServiceError } from '../errors/service-error.ts';
import type { Judged } from '../intents/deciders.ts';
import type {
  DryRunDecision,
  PolicyDecision,
  RiskResult,
  ScreeningResult,
  TransactionFacts,
} from '../intents/facts.ts';
import type { RequestContext } from '../rest/route.ts';
import { ruleInputOf } from '../risk/assess.ts';
import type { PolicyEntry } from '../rules/catalog.ts';
import { judgementOf, judgementPut, sibling } from '../rules/judgement.ts';
import { stricter, withVoters } from './combine.ts';
import { approvalTimeoutDefaultS, builtInEntry, defaultPolicyName } from './default-policy.ts';
import { type CompiledPolicy, evaluatePolicy } from './evaluate.ts';
import { findPolicy, loadPolicy } from './load.ts';

/** The decision and its judgement: one record, which also is the screening's report and the score's. */
export async function decideTransaction(
  context: RequestContext,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult,
  policyName: string | undefined,
  alsoPolicyName?: string,
): Promise<Judged<PolicyDecision>> {
  const id = sibling(facts.id, 'dec');
  const decidedBy = (name: string) => decisionBy(context, id, name, facts, screening, risk);
  const own = await decidedBy(policyName ?? defaultPolicyName);
  const other = alsoPolicyName === undefined ? undefined : await decidedBy(alsoPolicyName);
  const together = other === undefined ? own : stricter(own, other);
  const result = withVoters(facts, withHuman(facts, together));
  return { result, change: { puts: [judgementPut(judgementOf(context, id, facts, screening, risk, result))] } };
}

/** What one policy decides, with the verdict of its dry run beside it. */
async function decisionBy(
  context: RequestContext,
  id: string,
  name: string,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult,
): Promise<PolicyDecision> {
  const entry = await findPolicy(context, name);
  if (entry === undefined) {
    throw new ServiceError('invalidRequest', `no policy is named ${name}`, {
      details: [{ field: 'policy', issue: 'unknown_policy', message: 'takes the name of a policy' }],
    });
  }
  const [newest, enforced] = await Promise.all([
    loadPolicy(context, entry.id, entry.version),
    enforcedVersion(context, entry),
  ]);
  const decided = decisionOf(id, enforced, facts, screening, risk);
  const isDryRun = newest.record.mode === 'dry_run';
  return isDryRun ? { ...decided, dryRun: dryRunOf(newest, facts, screening, risk) } : decided;
}

/** What a wallet that always wants a human asks for when its policy allows without one. */
const humanApproval = { quorum: 1, approvers: [], timeoutS: approvalTimeoutDefaultS };
const humanRule = 'wallet:human_required';

/** The stricter of what the policy and the wallet ask for. */
function withHuman({ wantsHuman }: TransactionFacts, decided: PolicyDecision): PolicyDecision {
  if (wantsHuman !== true || decided.decision !== 'allow') return decided;
  return {
    ...decided,
    decision: 'require_approval',
    approvals: humanApproval,
    matchedRules: [...decided.matchedRules, humanRule],
    trace: [...decided.trace, { rule: humanRule, effect: 'require_approval', matched: true, result: 'true' }],
    reason: `${decided.reason}; the wallet requires a human approval`,
  };
}

/** The decision of exactly this version, whatever its mode. */
export function decisionOf(
  id: string,
  policy: CompiledPolicy,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult,
): PolicyDecision {
  const verdict = evaluatePolicy(policy, ruleInputOf(facts, screening, risk), screening.decision);
  return withVoters(facts, { id, ...verdict, policy: identityOf(policy), mode: policy.record.mode });
}

function dryRunOf(
  policy: CompiledPolicy,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult,
): DryRunDecision {
  const { decision, matchedRules, trace } = decisionOf('', policy, facts, screening, risk);
  return { policy: identityOf(policy), decision, matchedRules, trace };
}

function identityOf({ record }: CompiledPolicy): PolicyDecision['policy'] {
  return { name: record.name, id: record.policyId, version: record.policyVersion };
}

async function enforcedVersion(context: RequestContext, entry: PolicyEntry): Promise<CompiledPolicy> {
  if (entry.enforcedVersion !== null) return await loadPolicy(context, entry.id, entry.enforcedVersion);
  const fallback = (await findPolicy(context, defaultPolicyName)) ?? builtInEntry(context.tenant);
  // The default policy began enforced, so one of its versions always is.
  return await loadPolicy(context, fallback.id, fallback.enforcedVersion ?? 1);
}
