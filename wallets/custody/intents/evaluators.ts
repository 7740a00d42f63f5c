/**
 * The port to the three evaluators of a transaction. Each reads its inputs (lists, rules, policies) and returns its result and
 * the part of the change that records it (reports, scores, decisions, their events), which is committed together with the
 * intent, or discarded by a dry run.
 */

import type { RequestContext } from '../../../gateway/api/route.ts';
import type { DecidedTransaction } from '../../providers/port/port.ts';
import type { Change } from '../../store/contract.ts';
import type { PolicyDecision, RiskResult, ScreeningResult, TransactionFacts } from './facts.ts';

export interface EvaluatorResult<R> {
  readonly result: R;
  /** Records and events of this evaluation, and guards: its inputs must be unchanged at the commit. */
  readonly change: Change;
}

export interface Evaluators {
  screen(context: RequestContext, facts: TransactionFacts): Promise<EvaluatorResult<ScreeningResult>>;
  assess(
    context: RequestContext,
    facts: TransactionFacts,
    screening: ScreeningResult,
  ): Promise<EvaluatorResult<RiskResult>>;
  /**
   * `policyNames`: of the wallet and of the intent, as far as they name one; the tenant's default decides with them, and
   * the strictest decision wins. Throws ServiceError when one does not exist.
   */
  decide(
    context: RequestContext,
    facts: TransactionFacts,
    screening: ScreeningResult,
    risk: RiskResult,
    policyNames: readonly string[],
  ): Promise<EvaluatorResult<PolicyDecision>>;
  /** The signed receipt of a decision: a compact JWS (EdDSA). */
  receipt(
    context: RequestContext,
    facts: TransactionFacts,
    decision: PolicyDecision,
    risk: RiskResult,
    fee: FeeLimit,
  ): string;
  /** What a receipt of this service says; undefined: no gateway signed it. */
  readReceipt(receipt: string): DecidedTransfer | undefined;
}

export interface FeeLimit {
  readonly asset: string;
  /** Decimal, the most that the transaction may cost. */
  readonly limit: string;
}

/** The claims of a receipt that an order depends on. Those of earlier versions lack the optional ones. */
export interface DecidedTransfer {
  readonly sub: string;
  readonly purpose: string;
  readonly tenant: string;
  readonly decision: PolicyDecision['decision'];
  readonly initiator?: string;
  readonly approvals?: { readonly quorum: number; readonly approvers: readonly string[] };
  readonly transaction: DecidedTransaction;
}
