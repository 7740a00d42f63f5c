/**
 * The three judges of a transaction, as the intents room calls them. Each reads what it needs (lists, rules, policies)
 * and answers with its result and the part of the change that records it (reports, scores, decisions, their events), to
 * be committed together with the intent, or thrown away by a dry run.
 */

import type { RequestContext } from '../rest/route.ts';
import type { Change } from '../store/contract.ts';
import type { PolicyDecision, RiskResult, ScreeningResult, TransactionFacts } from './facts.ts';

export interface Judged<R> {
  readonly result: R;
  /** Records and events of this judgement. */
  readonly change: Change;
}

export interface Deciders {
  screen(context: RequestContext, facts: TransactionFacts): Promise<Judged<ScreeningResult>>;
  assess(context: RequestContext, facts: TransactionFacts, screening: ScreeningResult): Promise<Judged<RiskResult>>;
  /**
   * `policyName`: of the wallet, else of the intent; undefined: the tenant's default. `alsoPolicyName`: another one that
   * the intent names; then the stricter of both decides. Throws ServiceError when one does not exist.
   */
  decide(
    context: RequestContext,
    facts: TransactionFacts,
    screening: ScreeningResult,
    risk: RiskResult,
    policyName: string | undefined,
    alsoPolicyName?: string,
  ): Promise<Judged<PolicyDecision>>;
  /** The signed receipt of a decision: a compact JWS (EdDSA). */
  receipt(context: RequestContext, facts: TransactionFacts, decision: PolicyDecision, risk: RiskResult): string;
}
