import { becoming, continuing, unchangedIn } from '../../../gateway/api/state-changes.ts';

/**
 * The states of a token order and their transitions, in one table. docs/tokens.md shows it. A state without successors is
 * final.
 */
export const orderStatuses = [
  'created',
  'pending_approval',
  'reserve_check',
  'processing',
  'completed',
  'rejected',
  'failed',
] as const;
export type OrderStatus = (typeof orderStatuses)[number];

export const orderTransitions: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  created: ['pending_approval', 'reserve_check', 'rejected'],
  pending_approval: ['reserve_check', 'rejected'],
  reserve_check: ['processing', 'rejected', 'failed'],
  processing: ['completed', 'failed'],
  completed: [],
  rejected: [],
  failed: [],
};

/** By operation. A vote that is repeated changes nothing, in any state. */
export const orderStates = {
  vote: continuing(orderTransitions, unchangedIn<OrderStatus>('pending_approval')),
  cancel: becoming<OrderStatus>('rejected', 'pending_approval', 'reserve_check'),
};

/** For the documents. */
export const orderStatusTexts: Readonly<Record<OrderStatus, string>> = {
  created: 'Submitted; compliance, risk and policy evaluate its transaction.',
  pending_approval: 'The policy asks for approvals.',
  reserve_check: 'Approved; its transaction waits to be signed, and cap and reserve are checked at that moment.',
  processing: 'The check has passed: the transaction is being signed, or is on the chain.',
  completed: 'The transaction is final, and the supply has changed.',
  rejected: 'Policy, an approver, the caller, the cap or the reserve rejected it. Nothing was signed.',
  failed: 'The transaction failed or was cancelled. The supply did not change.',
};

export function mayFollow(from: OrderStatus, to: OrderStatus): boolean {
  return orderTransitions[from].includes(to);
}

export function isFinal(status: OrderStatus): boolean {
  return orderTransitions[status].length === 0;
}

/** Every `sub_status` of an order, for the documents. */
export const orderSubStatusTexts: Readonly<Record<string, string>> = {
  AWAITING_APPROVAL: 'Votes are missing.',
  POLICY_DENIED: 'Rejected by a rule, or because no rule allows it.',
  SCREENING_BLOCKED: 'Rejected: compliance blocks the destination.',
  REJECTED_BY_APPROVER: 'Rejected by an approver.',
  EXPIRED: 'Rejected: the approvals were late.',
  CANCELLED: 'Rejected: a caller cancelled it.',
  CAP_EXCEEDED: 'Rejected: the supply would pass the cap.',
  RESERVE_INSUFFICIENT:
    'Rejected: the reserve holds too little; `reserve_check` gives the required and the held amount.',
  RESERVE_EXPIRED: 'Rejected: the attestation had expired when the order was about to be signed.',
  RESERVE_TAKEN: 'Rejected: the reserve backs another token, of which units are in circulation or being minted.',
  RESERVE_UNAVAILABLE: 'Rejected: the wallet of the reserve is archived.',
  TOKEN_FROZEN: 'Rejected: the token was frozen when the order was about to be signed.',
  INTENT_FAILED: 'Failed: its transaction failed; `error` says why.',
  INTENT_CANCELLED: 'Failed: its transaction intent was cancelled by itself.',
  INTENT_EXPIRED: 'Failed: its transaction intent was not signed in time.',
};
