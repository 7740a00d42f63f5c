/** Scoring a transaction: the second of the three judges. */
import type { Judged } from '../intents/deciders.ts';
import type { RiskResult, ScreeningResult, TransactionFacts } from '../intents/facts.ts';
import { magicOutcome } from '../providers/magic.ts';
import type { RequestContext } from '../rest/route.ts';
import { makeRuleInput, type RuleInput } from '../rules/language.ts';
import { currentRiskRules } from './load.ts';
import { scoreOf } from './score.ts';

/** The score is part of the intent's judgement, which the policy's decision writes: the change is empty. */
export async function assessTransaction(
  context: RequestContext,
  facts: TransactionFacts,
  screening: ScreeningResult,
): Promise<Judged<RiskResult>> {
  const { rules, version } = await currentRiskRules(context);
  const magic = magicOutcome(context.principal.environment, facts.amount);
  const input = { facts, screening, magic };
  return { result: scoreOf(input, ruleInputOf(facts, screening, undefined), rules, version), change: {} };
}

/** What rules are told of a transaction; `risk` when there is a score. */
export function ruleInputOf(
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult | undefined,
): RuleInput {
  const { history } = facts;
  return makeRuleInput({
    tx: {
      asset: facts.asset,
      network: facts.network,
      provider: facts.provider,
      amount: facts.units,
      amount_decimal: facts.amount,
      available: facts.availableUnits,
      to: facts.toAddress,
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
