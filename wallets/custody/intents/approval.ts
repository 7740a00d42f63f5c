/**
 * Votes and cancellations.
 *
 * A vote counts once: repeated, it changes nothing and answers with the intent. An approver may still reject while the intent awaits others. The initiator has no vote, nor has a caller that the policy does not name: 403.
 */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { assertVersion } from '../../../gateway/api/failures.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn, type StateChanges, statesOf } from '../../../gateway/api/state-changes.ts';
import { merge } from '../../store/changes.ts';
import { unfrozenTenant } from '../tenant/public.ts';
import { walletStates } from '../wallets/public.ts';
import type { IntentDependencies, IntentQueue } from './dependencies.ts';
import { changeOf } from './effects.ts';
import { walletNotActive } from './evaluation.ts';
import { findIntent, findWallet } from './lookup.ts';
import { cancelIntent, hasVoted, lastOf, voteOn } from './machine.ts';
import type { IntentRecord } from './record.ts';
import { type IntentStatus, intentStates } from './states.ts';
import { intentView } from './view.ts';
import type { Ballot } from './votes.ts';

interface Params {
  readonly id: string;
  readonly txId: string;
}

export interface VoteRequest {
  readonly decision?: 'approve' | 'reject' | undefined;
  readonly comment?: string | undefined;
  readonly reason?: string | undefined;
  readonly expected_version?: number | undefined;
}

export async function approveIntent(
  { votes }: Pick<IntentDependencies, 'votes'>,
  driver: IntentQueue,
  context: RequestContext,
  params: Params,
  request: VoteRequest,
): Promise<Answer> {
  const ballot = ballotOf(context, request);
  const intent = await findIntent(context, params);
  const vote = votes.seal(context.tenant, intent, ballot);
  if (hasVoted(intent, vote.by, vote.decision)) return { status: 200, body: intentView(intent) };
  checkVoter(intent, vote.by);
  checkState(intent, intentStates.vote, context.nowMs);
  assertVersion('the intent', intent, request.expected_version);
  const move = voteOn(intent, vote);
  const after = lastOf(move);
  const answer = { status: 200, body: intentView(after) };
  if (vote.decision === 'reject') return { ...answer, change: changeOf(context, move) };
  const unfrozen = await unfrozenTenant(context);
  const { wallet } = await findWallet(context, intent.walletId);
  if (!isAllowedIn(walletStates.transfer, wallet.status)) throw walletNotActive(wallet.status);
  return {
    ...answer,
    change: merge(changeOf(context, move), { guards: [unfrozen, { kind: 'status', id: wallet.id, status: 'active' }] }),
    onRefusal: (refusal) => {
      if (refusal.kind === 'status') throw walletNotActive(refusal.status);
      throw new Error(`a vote was refused: ${refusal.kind}`);
    },
    ...(after.status === 'approved' ? { afterCommit: () => driver.enqueue(context.tenant, after, wallet) } : {}),
  };
}

export async function cancel(context: RequestContext, params: Params, reason: string | undefined): Promise<Answer> {
  const intent = await findIntent(context, params);
  checkState(intent, intentStates.cancel, context.nowMs);
  const move = cancelIntent(intent, actorOf(context.principal), reason ?? null, context.nowMs);
  return { status: 200, body: intentView(lastOf(move)), change: changeOf(context, move) };
}

/** Throws ServiceError 400 for a rejection without a reason. */
export function ballotOf({ principal, nowMs }: RequestContext, request: VoteRequest): Ballot {
  const { decision = 'approve', comment = null, reason = null } = request;
  if (decision === 'reject' && reason === null) {
    throw new ServiceError('invalidRequest', 'a rejection says why', {
      details: [{ field: 'reason', issue: 'missing_required', message: 'required to reject' }],
    });
  }
  return { by: actorOf(principal), decision, comment, reason, atMs: nowMs };
}

/** Whether the intent waits for the vote of `by`, who has none on its own intents and one on another's. */
export function awaitsVoteOf(intent: IntentRecord, by: string, nowMs: number): boolean {
  const isOpen = intent.status === 'pending_approval' && nowMs < intent.expiresAtMs;
  return isOpen && whyNoVote(intent, by) === undefined && !hasVoted(intent, by, 'approve');
}

/** What has an initiator and approvers: an intent, or what else is voted on. */
type Electorate = Pick<IntentRecord, 'initiator' | 'approvers'>;

/** Throws ServiceError 403. */
export function checkVoter(electorate: Electorate, by: string): void {
  const why = whyNoVote(electorate, by);
  if (why === 'initiator_may_not_approve') throw mayNot(why, 'the initiator has no vote on it');
  if (why === 'not_an_approver') throw mayNot(why, 'it names other approvers');
}

/** undefined: it has a vote. */
function whyNoVote(
  { initiator, approvers }: Electorate,
  by: string,
): 'initiator_may_not_approve' | 'not_an_approver' | undefined {
  if (by === initiator) return 'initiator_may_not_approve';
  return approvers.length > 0 && !approvers.includes(by) ? 'not_an_approver' : undefined;
}

function mayNot(issue: string, message: string): ServiceError {
  return new ServiceError('insufficientScope', message, { details: [{ field: 'approver', issue, message }] });
}

/** An intent past its time counts as expired, even before a scan has marked it. */
function checkState(intent: IntentRecord, changes: StateChanges<IntentStatus>, nowMs: number): void {
  const isAllowed = isAllowedIn(changes, intent.status);
  if (isAllowed && nowMs < intent.expiresAtMs) return;
  const status = isAllowed ? 'expired' : intent.status;
  throw new ServiceError('conflict', `the intent is ${status}`, {
    details: [{ field: 'status', issue: status, message: `the status of the intent must be ${statesOf(changes)}` }],
  });
}
