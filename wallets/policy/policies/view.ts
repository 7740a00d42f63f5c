/** Policies and decisions as the API shows them. */
import { timestamp } from '../../../proto/timestamps.ts';
import type { PolicyDecision, PolicyTraceLine, RiskResult } from '../../custody/intents/public.ts';
import type { DateOf, PolicyEntry } from '../rules/catalog.ts';
import type { EvaluationRecord } from '../rules/evaluation-record.ts';
import type { ApprovalTerms, PolicyVersionRecord } from './record.ts';

/** One version; `updated_at` is when it was made. */
export function policyView(entry: PolicyEntry, record: PolicyVersionRecord, dateOf: DateOf): PolicyView {
  return {
    id: entry.id,
    name: entry.name,
    version: record.policyVersion,
    enforced_version: entry.enforcedVersion,
    mode: record.mode,
    rules: record.rules.map(({ id, effect, when, approvals }) => ({
      id,
      effect,
      when,
      ...(approvals === null ? {} : { approvals: approvalsView(approvals) }),
    })),
    warnings: record.warnings,
    created_at: dateOf(entry.createdAtMs),
    updated_at: dateOf(record.createdAtMs),
  };
}

export interface PolicyView {
  readonly id: string;
  readonly [field: string]: unknown;
}

function approvalsView({ quorum, approvers, timeoutS }: ApprovalTerms): object {
  return { quorum, approvers, timeout_s: timeoutS };
}

/** An evaluation that went as far as a decision. */
export type DecidedRecord = EvaluationRecord & { readonly decision: PolicyDecision; readonly risk: RiskResult };

export function isDecided(record: EvaluationRecord | undefined): record is DecidedRecord {
  return record !== undefined && record.decision !== null && record.risk !== null;
}

export function decisionView(record: DecidedRecord): object {
  const { decision, screening, risk, transaction } = record;
  const { approvals, dryRun } = decision;
  return {
    id: decision.id,
    tx_id: record.txId,
    decision: decision.decision,
    policy: decision.policy,
    policy_version: decision.policy.version,
    also_policies: decision.alsoPolicies ?? [],
    mode: decision.mode,
    matched_rules: decision.matchedRules,
    trace: decision.trace.map(traceView),
    approvals: approvals === undefined ? null : approvalsView(approvals),
    reason: decision.reason,
    compliance: {
      decision: screening.decision,
      risk_score: screening.riskScore,
      report_id: screening.reportId,
    },
    risk: { score: risk.score, level: risk.level, action: risk.action },
    dry_run:
      dryRun === undefined
        ? null
        : {
            policy: dryRun.policy,
            decision: dryRun.decision,
            matched_rules: dryRun.matchedRules,
            trace: dryRun.trace.map(traceView),
          },
    transaction:
      transaction === null
        ? null
        : {
            wallet_id: transaction.walletId,
            asset: transaction.asset,
            amount: transaction.amount,
            network: transaction.network,
            to: transaction.to,
          },
    created_at: timestamp(record.createdAtMs),
  };
}

function traceView({ rule, effect, matched, result }: PolicyTraceLine): object {
  return { rule, effect, matched, result };
}
