/** Scores a transaction: the second of the three evaluators. */

import type { RequestContext } from '../../../gateway/api/route.ts';
import type { EvaluatorResult, RiskResult, ScreeningResult, TransactionFacts } from '../../custody/intents/public.ts';
import { permitOf } from '../../networks/permits.ts';
import { partsOfCall } from '../../networks/token-calls.ts';
import { fieldsOf } from '../../networks/typed-data.ts';
import { testOutcome } from '../../providers/port/test-triggers.ts';
import { makeRuleInput, type RuleInput } from '../rules/cel.ts';
import { stateGuards } from '../rules/state-guards.ts';
import { mergeReads } from '../rules/state-reads.ts';
import { currentRiskRules } from './load.ts';
import { scoreOf } from './score.ts';

/**
 * The score is part of the intent's evaluation, which the policy's decision writes. The change has guards only for the state
 * that the tenant's rules read; the reads of the built-in factors matter only to some policies (decisive-factors.ts).
 */
export async function assessTransaction(
  context: RequestContext,
  facts: TransactionFacts,
  screening: ScreeningResult,
): Promise<EvaluatorResult<RiskResult>> {
  const { rules, version } = await currentRiskRules(context);
  const trigger = testOutcome(context.principal.environment, facts.amount);
  const input = { facts, screening, trigger };
  const seen = viewsOf(facts).map((view) => ruleInputOf(view, screening, undefined));
  const result = scoreOf(input, seen, rules, version);
  const counting = rules.filter(({ record }) => record.mode === 'enforce');
  const reads = mergeReads(...counting.map(({ rule }) => rule.reads));
  return { result, change: { guards: stateGuards(facts, reads) } };
}

/**
 * A transaction in each way that rules see it: a permit and a call also as the transfer of what they let move, and the replacement of a
 * call also as that call.
 */
export function viewsOf(facts: TransactionFacts): readonly TransactionFacts[] {
  const { message, call, kind } = facts;
  const isPermit = message?.typedData !== undefined && permitOf(message.typedData) !== undefined;
  return [
    facts,
    ...(call !== undefined && kind !== 'contract_call' ? [{ ...facts, kind: 'contract_call' } as const] : []),
    ...(call !== undefined || isPermit ? [{ ...facts, kind: 'transfer' } as const] : []),
  ];
}

function callFields(call: NonNullable<TransactionFacts['call']>): ReadonlyMap<string, string> {
  const { selector, function: name, arguments: given } = partsOfCall(call);
  return new Map([
    ['contract', call.contract.toLowerCase()],
    ['selector', selector],
    ['function', name],
    ...Object.entries(given).map(([argument, value]) => [`arguments.${argument}`, value] as const),
  ]);
}

/** The facts of a transaction that rules read; `risk` when there is a score. */
export function ruleInputOf(
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult | undefined,
): RuleInput {
  const { history } = facts;
  return makeRuleInput({
    tx: {
      kind: facts.kind,
      asset: facts.asset,
      network: facts.network,
      provider: facts.provider,
      amount: facts.units,
      amount_decimal: facts.amount,
      available: facts.availableUnits,
      to: facts.toAddress,
      message: facts.message?.text ?? '',
      typed_data: facts.message?.typedData === undefined ? new Map() : fieldsOf(facts.message.typedData),
      call: facts.call === undefined ? new Map() : callFields(facts.call),
      from: facts.fromAddress,
      wallet_id: facts.walletId,
      wallet_name: facts.walletName,
      metadata: facts.metadata,
      initiator: facts.initiator,
      decimals: facts.decimals,
    },
    compliance: { decision: screening.decision, risk_score: screening.riskScore },
    history: {
      intents_last_hour: history.intentsLastHour,
      intents_last_day: history.intentsLastDay,
      intents_to_destination: history.intentsToDestination,
    },
    nowMs: facts.nowMs,
    ...(risk === undefined ? {} : { risk: { score: risk.score, level: risk.level, action: risk.action } }),
  });
}
