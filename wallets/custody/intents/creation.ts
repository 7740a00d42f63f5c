/**
 * Creates an intent, or evaluates it as a dry run. It evaluates and commits the intent in one step; the driver does the rest.
 */
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Reporter } from '../../../gateway/api/event.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { mayUseConnection } from '../../../gateway/api/visibility.ts';
import { merge } from '../../store/changes.ts';
import type { Change, CommitRefusal, Guard } from '../../store/contract.ts';
import type { ConnectionRecord } from '../connections/public.ts';
import type { WalletRecord } from '../wallets/public.ts';
import { type ContractCallRequest, evaluateCall } from './contract-calls.ts';
import type { IntentDependencies, IntentQueue } from './dependencies.ts';
import { changeOf } from './effects.ts';
import { evaluateTransfer, type TransferEvaluation, type TransferRequest } from './evaluation.ts';
import type { DryRunDecision } from './facts.ts';
import { type FoundWallet, findWallet } from './lookup.ts';
import { type IntentDraft, type IntentVerdict, lastOf, openIntent } from './machine.ts';
import { evaluateMessage, type MessageRequest } from './messages.ts';
import { externalIdIndex, type IntentRecord, intentType } from './record.ts';
import { feeTermsView, intentView, unitsText } from './view.ts';

type IntentRequest = TransferRequest | MessageRequest | ContractCallRequest;

export async function createIntent(
  deps: IntentDependencies,
  driver: IntentQueue,
  context: RequestContext,
  walletId: string,
  request: IntentRequest,
): Promise<Answer> {
  const found = await findWallet(context, walletId);
  const { wallet } = found;
  const { origin, external_id: externalId } = request;
  const guards = await unusedExternalId(context, externalId);
  const evaluation = await evaluateRequest(deps, context, found, request);
  const draft = {
    ...draftOf(deps, context, found, evaluation),
    ...(origin !== undefined && { origin }),
    ...(externalId !== undefined && { externalId }),
  };
  const opening = openingOf(context, { draft, verdict: verdictOf(evaluation), wallet, ...evaluation });
  return madeAnswer(driver, context, wallet, opening, merge(evaluation.change, { guards }));
}

/** `more`: part of its change. */
export function madeAnswer(
  driver: IntentQueue,
  context: RequestContext,
  wallet: WalletRecord,
  { intent, change }: ReturnType<typeof openingOf>,
  more: Change,
): Answer {
  return {
    status: 201,
    body: intentView(intent),
    change: merge(change, more),
    onRefusal: refuseIntent,
    ...(intent.status === 'approved' ? { afterCommit: () => driver.enqueue(context.tenant, intent, wallet) } : {}),
  };
}

/** Throws ServiceError. The guards: another request that takes the id first makes this one run again, and see it. */
async function unusedExternalId(
  { store, tenant, principal }: RequestContext,
  externalId: string | undefined,
): Promise<Guard[]> {
  if (externalId === undefined) return [];
  const index = externalIdIndex(externalId);
  const { items } = await store.list(tenant, intentType, { indices: [index], order: 'oldest', limit: 1 });
  const [first] = items;
  if (first === undefined) return [{ kind: 'count', index, min: 0, max: 0 }];
  const of = mayUseConnection(principal, first.connectionId) ? `the intent ${first.id}` : 'another intent';
  throw new ServiceError('conflict', `external_id ${externalId} stands for ${of} already, for good`, {
    details: [{ field: 'external_id', issue: 'external_id_taken', message: `${of} has it: use another one` }],
  });
}

export interface Opening {
  readonly draft: IntentDraft;
  readonly verdict: IntentVerdict;
  readonly wallet: WalletRecord;
  readonly connection: ConnectionRecord;
}

/** A new intent, and the change that writes it. `refuseIntent` answers when the store refuses that. */
export function openingOf(
  reporter: Reporter,
  { draft, verdict, wallet, connection }: Opening,
): { readonly intent: IntentRecord; readonly change: Change } {
  const move = openIntent(draft, verdict, reporter.nowMs);
  const guards: Guard[] = [
    // The evaluation read its policy, its approval mode and its status: after a change of the wallet it runs again.
    { kind: 'version', id: wallet.id, version: wallet.version },
    // A connection that is being disconnected must not get one more open intent.
    { kind: 'status', id: connection.id, status: connection.status },
  ];
  return { intent: lastOf(move), change: merge(changeOf(reporter, move), { guards }) };
}

export async function showDecisions(
  deps: IntentDependencies,
  context: RequestContext,
  walletId: string,
  request: IntentRequest,
): Promise<Answer> {
  const found = await findWallet(context, walletId);
  await unusedExternalId(context, request.external_id);
  return decisionsAnswer(await evaluateRequest(deps, context, found, request));
}

function evaluateRequest(
  deps: IntentDependencies,
  context: RequestContext,
  found: FoundWallet,
  request: IntentRequest,
): Promise<TransferEvaluation> {
  if ('asset' in request) return evaluateTransfer(deps, context, found, request);
  return 'contract' in request
    ? evaluateCall(deps, context, found, request)
    : evaluateMessage(deps, context, found, request);
}

export function decisionsAnswer(evaluation: TransferEvaluation): Answer {
  const { facts, quote, screening, risk, decision } = evaluation;
  const { fee } = quote;
  const { dryRun } = decision;
  return {
    status: 200,
    body: {
      dry_run: true,
      decision: decision.decision,
      status: { allow: 'approved', require_approval: 'pending_approval', deny: 'denied' }[decision.decision],
      reason: decision.reason,
      sufficient_funds: evaluation.sufficientFunds,
      asset: facts.asset,
      amount: facts.amount,
      fee: { asset: fee.asset, reserved: unitsText(fee.asset, fee.units), terms: feeTermsView(quote.fees) },
      screening: {
        decision: screening.decision,
        risk_score: screening.riskScore,
        matches: screening.matches.map((match) => ({
          list_id: match.listId,
          list_name: match.listName,
          kind: match.kind,
          list_version: match.listVersion,
          entry: match.entry,
        })),
      },
      risk: {
        tx_id: risk.txId,
        score: risk.score,
        level: risk.level,
        action: risk.action,
        factors: risk.factors.map(({ code, contribution, evidence }) => ({ code, contribution, evidence })),
        rules_version: risk.rulesVersion,
      },
      policy: decision.policy,
      also_policies: decision.alsoPolicies ?? [],
      matched_rules: decision.matchedRules,
      trace: decision.trace,
      dry_run_policy: dryRun === undefined ? null : dryRunView(dryRun),
      approvals_required: decision.approvals?.quorum ?? 0,
      approvers: decision.approvals?.approvers ?? [],
    },
  };
}

function dryRunView({ policy, decision, matchedRules, trace }: DryRunDecision): object {
  return { policy, decision, matched_rules: matchedRules, trace };
}

/** The intent that follows from an evaluation, before its verdict. */
export function draftOf(
  deps: Pick<IntentDependencies, 'evaluators'>,
  context: RequestContext,
  { wallet }: Pick<FoundWallet, 'wallet'>,
  { operation, facts, quote, beyond, screening, risk, decision }: TransferEvaluation,
): IntentDraft {
  const { asset: feeAsset, units: feeUnits } = quote.fee;
  const { replaces } = operation;
  const feeLimit = { asset: feeAsset, limit: unitsText(feeAsset, feeUnits) };
  return {
    id: facts.id,
    kind: operation.kind,
    ...(operation.token !== undefined && { token: operation.token }),
    ...(operation.message !== undefined && { message: operation.message }),
    ...(operation.call !== undefined && { call: operation.call }),
    walletId: wallet.id,
    connectionId: wallet.connectionId,
    provider: wallet.provider,
    network: wallet.network,
    asset: facts.asset,
    amount: facts.amount,
    units: facts.units.toString(),
    fromAddress: facts.fromAddress,
    destination: { address: facts.toAddress },
    feeReserve: { asset: quote.fee.asset, units: quote.fee.units.toString() },
    ...(quote.fees !== undefined && { fees: quote.fees }),
    ...(replaces !== undefined && {
      replaces: { ...replaces, beyond: beyond.map(({ asset, units }) => ({ asset, units: units.toString() })) },
    }),
    policy: decision.policy,
    decisionId: decision.id,
    policyReceipt: deps.evaluators.receipt(context, facts, decision, risk, feeLimit),
    riskScore: risk.score,
    screeningId: screening.id,
    initiator: facts.initiator,
    metadata: facts.metadata,
    correlationId: context.requestId,
  };
}

export function verdictOf({ decision, screening }: Pick<TransferEvaluation, 'decision' | 'screening'>): IntentVerdict {
  if (decision.decision === 'allow') return { kind: 'approved' };
  if (decision.decision === 'deny') {
    return { kind: 'denied', subStatus: screening.decision === 'blocked' ? 'SCREENING_BLOCKED' : 'POLICY_DENIED' };
  }
  const { approvals } = decision;
  if (approvals === undefined) throw new Error(`decision ${decision.id} asks for approval and names no approvers`);
  const { quorum, approvers, timeoutS } = approvals;
  return { kind: 'pendingApproval', quorum, approvers, timeoutMs: timeoutS * 1000 };
}

/** Of the change that makes an intent. Throws ServiceError. */
export function refuseIntent(refusal: CommitRefusal): Answer {
  switch (refusal.kind) {
    case 'insufficient': {
      const message = `the wallet holds too little ${refusal.asset} for the amount and the fee`;
      const details: FieldIssue[] = [{ field: 'amount', issue: 'insufficient_funds', message }];
      throw new ServiceError('providerRejected', message, { details });
    }
    case 'status':
      throw new ServiceError('conflict', `the provider connection of the wallet has become ${refusal.status}`, {
        details: [{ field: 'wallet.provider_connection_id', issue: 'version_conflict' }],
      });
    default:
      throw new Error(`an intent was refused: ${refusal.kind}`);
  }
}
