/**
 * The evaluation of a transaction in one immutable record: the screening report, the risk score and the policy's decision. An
 * intent's evaluation has the intent's own UUID (the decision on `txi_x` is `dec_x`, its score `txi_x`, its report `rep_x`), so
 * that one read finds each by its id and an intent writes one record.
 */
import { actorOf, type Principal } from '../../../gateway/api/principal.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { PolicyDecision, RiskResult, ScreeningResult, TransactionFacts } from '../../custody/intents/public.ts';
import type { Put, RecordType, Versioned } from '../../store/contract.ts';

/** Days that evaluations are kept. */
export const evaluationLifetimeMs = 30 * 24 * 3_600_000;

/** The screened subject. */
export interface ScreeningSubject {
  readonly type: 'address' | 'individual' | 'organization';
  readonly address: string | null;
  readonly network: string | null;
  readonly name: string | null;
}

export interface EvaluatedTransaction {
  readonly walletId: string;
  readonly asset: string;
  readonly amount: string;
  readonly network: string;
  readonly to: string;
}

export interface ScreenedDetails {
  readonly asset: string | null;
  readonly amount: string | null;
  readonly direction: string | null;
  readonly intentId: string | null;
}

export interface EvaluationRecord extends Versioned {
  /** The intent, or the evaluation itself. */
  readonly txId: string;
  readonly connectionId: string | null;
  readonly by: string;
  readonly subject: ScreeningSubject;
  /** The transfer as described by a caller of /v1/compliance/screen. */
  readonly details: ScreenedDetails | null;
  readonly transaction: EvaluatedTransaction | null;
  readonly screening: ScreeningResult;
  readonly risk: RiskResult | null;
  readonly decision: PolicyDecision | null;
  readonly createdAtMs: number;
}

export const evaluationType: RecordType<EvaluationRecord> = {
  name: 'judgement',
  status: () => '',
  isPacked: () => true,
  indices: ({ id, txId, decision }) => {
    if (decision !== null) {
      const policies = [decision.policy, ...(decision.alsoPolicies ?? []), decision.dryRun?.policy].flatMap(
        (policy) => policy?.id ?? [],
      );
      return [...new Set(policies)].map(decisionsIndex);
    }
    return id.startsWith('rsk_') ? [scoresIndex(txId)] : [];
  },
};

export function decisionsIndex(policyId: string): string {
  return `policies:decisions:${policyId}`;
}

export function scoresIndex(txId: string): string {
  return `risk:scores:${txId}`;
}

/** The same UUID under another prefix. */
export function sibling(id: string, prefix: 'dec' | 'scr' | 'rep' | 'rsk'): string {
  return `${prefix}_${id.slice(id.indexOf('_') + 1)}`;
}

export function evaluationPut(record: EvaluationRecord): Put {
  return {
    type: evaluationType as unknown as RecordType<Versioned>,
    before: undefined,
    after: record,
    lifetimeMs: evaluationLifetimeMs,
  };
}

/** The evaluation of a transaction, as far as it went. */
export function evaluationOf(
  context: RequestContext,
  id: string,
  facts: TransactionFacts,
  screening: ScreeningResult,
  risk: RiskResult | null,
  decision: PolicyDecision | null,
): EvaluationRecord {
  const { walletId, asset, amount, network, toAddress: to } = facts;
  return {
    id,
    version: 1,
    txId: facts.id,
    connectionId: facts.connectionId ?? null,
    by: actorOf(context.principal),
    subject: destinationOf(facts),
    details: null,
    transaction: { walletId, asset, amount, network, to },
    screening,
    risk,
    decision,
    createdAtMs: facts.nowMs,
  };
}

export function destinationOf({ toAddress, network }: TransactionFacts): ScreeningSubject {
  return { type: 'address', address: toAddress, network, name: null };
}

/** A token that is limited to connections sees what concerns them, and what it asked for itself. */
export function maySee(principal: Principal, { connectionId, by }: EvaluationRecord): boolean {
  const { providerConnectionIds: ids } = principal;
  if (ids === undefined) return true;
  return connectionId === null ? by === actorOf(principal) : ids.includes(connectionId);
}
