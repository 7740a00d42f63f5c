/**
 * Votes on orders, and their cancellation. A vote counts once; the initiator has none, and neither has a caller that the policy
 * does not name. The last vote also creates the order's intent, in the same change.
 */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { assertVersion } from '../../../gateway/api/failures.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn, type StateChanges, statesOf } from '../../../gateway/api/state-changes.ts';
import { usableConnection } from '../../custody/connections/public.ts';
import {
  ballotOf,
  cancelIntent,
  changeOf,
  findWallet,
  hasVoted,
  intentType,
  openingOf,
  refuseIntent,
  type VoteRequest,
  walletNotActive,
} from '../../custody/intents/public.ts';
import { unfrozenTenant } from '../../custody/tenant/public.ts';
import { walletStates } from '../../custody/wallets/public.ts';
import { merge } from '../../store/changes.ts';
import { orderChange } from './effects.ts';
import { findOrder } from './find.ts';
import type { TokenDeps } from './issue.ts';
import { lastOrder, rejectOrder, voteOnOrder } from './machine.ts';
import type { OrderRecord } from './record.ts';
import { type OrderStatus, orderStates } from './states.ts';
import { orderView } from './view.ts';

interface Params {
  readonly id: string;
  readonly orderId: string;
}

export async function approveOrder(
  { intents, driver }: TokenDeps,
  context: RequestContext,
  params: Params,
  request: VoteRequest,
): Promise<Answer> {
  const ballot = ballotOf(context, request);
  const order = await findOrder(context, params);
  const vote = intents.votes.seal(context.tenant, order.draft, ballot);
  if (hasVoted(order, vote.by, vote.decision)) return { status: 200, body: orderView(order) };
  assertVoter(order, vote.by);
  checkState(order, orderStates.vote, context.nowMs);
  assertVersion('the order', order, request.expected_version);
  const move = voteOnOrder(order, vote);
  const after = lastOrder(move);
  const answer = { status: 200, body: orderView(after), change: orderChange(context, move) };
  if (vote.decision === 'reject') return answer;
  const change = merge(answer.change, { guards: [await unfrozenTenant(context)] });
  if (after.status !== 'reserve_check') return { ...answer, change };
  const { wallet } = await findWallet(context, order.draft.walletId);
  if (!isAllowedIn(walletStates.transfer, wallet.status)) throw walletNotActive(wallet.status);
  const connection = await usableConnection(context, wallet.connectionId);
  const { approvals, approvalsRequired, approvers } = after;
  const verdict = { kind: 'approved', votes: { approvals, approvalsRequired, approvers } } as const;
  const opening = openingOf(context, { draft: order.draft, verdict, wallet, connection });
  return {
    ...answer,
    change: merge(change, opening.change),
    onRefusal: refuseIntent,
    afterCommit: () => driver.enqueue(context.tenant, opening.intent, wallet),
  };
}

/** Possible until its signing begins. Also cancels its intent. */
export async function cancelOrder(
  context: RequestContext,
  params: Params,
  reason: string | undefined,
): Promise<Answer> {
  const { nowMs, principal, store, tenant } = context;
  const order = await findOrder(context, params);
  checkState(order, orderStates.cancel, nowMs);
  const by = actorOf(principal);
  const error = { code: 'CANCELLED', message: reason ?? `called off by ${by}` };
  const move = rejectOrder(order, 'CANCELLED', error, nowMs);
  const answer = { status: 200, body: orderView(lastOrder(move)), change: orderChange(context, move) };
  if (order.status === 'pending_approval') return answer;
  const intent = await store.read(tenant, intentType, order.draft.id);
  // The intent is already over: the order follows in a moment.
  if (intent?.status !== 'approved') throw wrongState(order.status, 'not being signed');
  const cancelled = changeOf(context, cancelIntent(intent, by, reason ?? null, nowMs));
  return { ...answer, change: merge(answer.change, cancelled) };
}

function assertVoter(order: OrderRecord, by: string): void {
  const refused =
    by === order.initiator
      ? (['initiator_may_not_approve', 'the initiator of an order has no vote on it'] as const)
      : order.approvers.length > 0 && !order.approvers.includes(by)
        ? (['not_an_approver', 'the policy names other approvers for this order'] as const)
        : undefined;
  if (refused === undefined) return;
  const [issue, message] = refused;
  throw new ServiceError('insufficientScope', message, { details: [{ field: 'approver', issue, message }] });
}

/** An order past its time counts as expired, even before its job has rejected it. */
function checkState({ status, expiresAtMs }: OrderRecord, changes: StateChanges<OrderStatus>, nowMs: number): void {
  const isLate = status === 'pending_approval' && nowMs >= expiresAtMs;
  if (isLate || !isAllowedIn(changes, status)) throw wrongState(isLate ? 'expired' : status, statesOf(changes));
}

function wrongState(status: string, wanted: string): ServiceError {
  return new ServiceError('conflict', `the order is ${status}`, {
    details: [{ field: 'status', issue: 'state_conflict', message: `the status of the order must be ${wanted}` }],
  });
}
