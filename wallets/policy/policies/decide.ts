/**
 * Decides a transaction: the last of the three evaluators.
 *
 * The tenant's `default` policy, the wallet's and the one that an intent names are all evaluated, and the strictest
 * decision wins: a policy named in the request can only make the decision stricter. So can the tenant's risk rules.
 *
 * A version in mode dry_run has no effect: the newest enforced version of the same policy applies. Without one, that policy is
 * ignored. So a dry run can neither block nor allow a transfer; its own verdict is recorded beside the decision.
 *
 * The change of a decision contains guards for its inputs: the versions of policies, and the values that its rules read of the
 * wallet's history and balance. If any of them changes first, the store refuses the change, and the decision is made again.
 */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type {
  DryRunDecision,
  EvaluatorResult,
  PolicyDecision,
  PolicyTraceLine,
  RiskResult,
  ScreeningResult,
  TransactionFacts,
} from '../../custody/intents/public.ts';
import { type IntentKind, mustBeNamed } from '../../providers/port/kinds.ts';
import { decisiveHabits, ruleInputOf, viewsOf } from '../risk/public.ts';
import { catalogGuard } from '../rules/catalog.ts';
import { evaluationOf, evaluationPut, sibling } from '../rules/evaluation-record.ts';
import { stateGuards } from '../rules/state-guards.ts';
import { mergeReads, type StateReads } from '../rules/state-reads.ts';
import { strictestOf, withTransfer, withVoters } from './combine.ts';
import { approvalTimeoutDefaultS, defaultPolicyName } from './default-policy.ts';
import { type CompiledPolicy, evaluatePolicy } from './evaluate.ts';
import { findPolicy, loadPolicy } from './load.ts';

/**
 * The decision and its evaluation: one record, which also is the screening's report and the score's. `policyNames`: of the
 * wallet and of the intent, as far as they name one; `default` decides with them. Throws ServiceError for an unknown name.
 */
export async function decideTransaction(
  context: RequestContext,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult,
  policyNames: readonly string[],
): Promise<EvaluatorResult<PolicyDecision>> {
  const id = sibling(facts.id, 'dec');
  const names = [...new Set([...policyNames, defaultPolicyName])];
  const policies = await Promise.all(names.map((name) => policyInForce(context, name)));
  const enforced = policies.flatMap(({ enforced }) => enforced ?? []);
  const decisions = enforced.map((policy) => ofPolicy(id, policy, facts, screening, risk));
  const [dryRun] = policies.flatMap(({ trial }) =>
    trial === undefined ? [] : dryRunOf(trial, facts, screening, risk),
  );
  const together = withHuman(facts, withRiskRules(risk, strictestOf(decisions)));
  const result = withVoters(facts, dryRun === undefined ? together : { ...together, dryRun });
  const evaluation = evaluationPut(evaluationOf(context, id, facts, screening, risk, result));
  const guards = [...stateGuards(facts, readsOf(enforced, facts, risk)), await catalogGuard(context)];
  return { result, change: { puts: [evaluation], guards } };
}

interface PolicyInForce {
  /** Undefined while all of its versions are dry runs. */
  readonly enforced: CompiledPolicy | undefined;
  /** Its newest version, while that is a dry run. */
  readonly trial: CompiledPolicy | undefined;
}

async function policyInForce(context: RequestContext, name: string): Promise<PolicyInForce> {
  const entry = await findPolicy(context, name);
  if (entry === undefined) {
    throw new ServiceError('invalidRequest', `no policy is named ${name}`, {
      details: [{ field: 'policy', issue: 'unknown_policy', message: 'takes the name of a policy' }],
    });
  }
  const { id, version, enforcedVersion } = entry;
  const [newest, enforced] = await Promise.all([
    loadPolicy(context, id, version),
    enforcedVersion === null ? undefined : loadPolicy(context, id, enforcedVersion),
  ]);
  return { enforced, trial: newest.record.mode === 'dry_run' ? newest : undefined };
}

/** The state that all these policies read, including the reads of the score. */
function readsOf(policies: readonly CompiledPolicy[], facts: TransactionFacts, risk: RiskResult): StateReads {
  const reads = mergeReads(...policies.flatMap(({ rules }) => rules.map(({ condition }) => condition.reads)));
  return mergeReads(reads, decisiveHabits(facts, risk, reads));
}

/** The approval of a wallet that always requires a human, and of a risk rule, when no policy requires one. */
const humanApproval = { quorum: 1, approvers: [], timeoutS: approvalTimeoutDefaultS };
const humanRule = 'wallet:human_required';

/** The stricter requirement of policy and wallet. */
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

/** The stricter of the policies' decision and the risk rules that match. */
function withRiskRules({ ruleActions }: RiskResult, decided: PolicyDecision): PolicyDecision {
  if (ruleActions.length === 0) return decided;
  const lines: readonly PolicyTraceLine[] = ruleActions.map(({ rule, action, result }) => ({
    rule: `risk:${rule}`,
    effect: action === 'deny' ? 'deny' : 'require_approval',
    matched: true,
    result,
  }));
  const named = {
    ...decided,
    matchedRules: [...decided.matchedRules, ...lines.map(({ rule }) => rule)],
    trace: [...decided.trace, ...lines],
    reason: `${decided.reason}; ${ruleActions.map(({ rule, action }) => `risk rule ${rule}: ${action}`).join(', ')}`,
  };
  if (ruleActions.some(({ action }) => action === 'deny')) return { ...named, decision: 'deny', approvals: undefined };
  if (decided.decision !== 'allow') return named;
  return { ...named, decision: 'require_approval', approvals: humanApproval };
}

/** The decision of exactly this version and the risk rules, whatever its mode. */
export function decisionOf(...asked: Parameters<typeof ofPolicy>): PolicyDecision {
  const [, , , , risk] = asked;
  return withRiskRules(risk, ofPolicy(...asked));
}

function ofPolicy(
  id: string,
  policy: CompiledPolicy,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult,
): PolicyDecision {
  const seen = (view: TransactionFacts) => ruleInputOf(view, screening, risk);
  const verdicts = viewsOf(facts).map((view) => {
    // A vault's message is decided by the vault's policy, which is there for nothing else.
    const isToName = mustBeNamed(view.kind) && (view.message ?? view.call) !== undefined;
    // No rule knows this kind, and it has a name, for a rule that asks for one.
    const ofNoKind = () => seen({ ...view, kind: `${view.kind}_` as IntentKind });
    const toName = isToName ? { kind: view.kind, ofNoKind: ofNoKind() } : undefined;
    return evaluatePolicy(policy, seen(view), screening.decision, toName);
  });
  const verdict = verdicts.reduce(withTransfer);
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
