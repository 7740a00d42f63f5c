/**
 * The states of a transaction intent and their transitions, in one table. docs/wallet-api.md draws
 * its diagram from it. A state without followers is final, and so is `completed`, unless a reorganisation undoes it (`isSettled` in
 * record.ts).
 */
import { continuing, leadingTo, unchangedIn } from '../../../gateway/api/state-changes.ts';
export const intentStatuses = [
  'created',
  'screening',
  'pending_approval',
  'approved',
  'signing',
  'broadcasting',
  'confirming',
  'completed',
  'denied',
  'rejected',
  'expired',
  'cancelled',
  'failed',
] as const;
export type IntentStatus = (typeof intentStatuses)[number];

export const intentTransitions: Readonly<Record<IntentStatus, readonly IntentStatus[]>> = {
  created: ['screening', 'denied'],
  screening: ['pending_approval', 'approved', 'denied', 'failed'],
  pending_approval: ['approved', 'rejected', 'expired', 'cancelled', 'failed'],
  approved: ['signing', 'cancelled', 'expired', 'failed'],
  // A message is sent nowhere.
  signing: ['broadcasting', 'completed', 'failed'],
  broadcasting: ['confirming', 'failed'],
  confirming: ['completed', 'failed'],
  completed: ['confirming'],
  denied: [],
  rejected: [],
  expired: [],
  cancelled: [],
  failed: [],
};

/** By operation. A vote that is repeated changes nothing, in any state. */
export const intentStates = {
  vote: continuing(intentTransitions, unchangedIn<IntentStatus>('pending_approval')),
  replace: unchangedIn<IntentStatus>('broadcasting'),
  cancel: leadingTo(intentTransitions, 'cancelled'),
};

export function mayFollow(from: IntentStatus, to: IntentStatus): boolean {
  return intentTransitions[from].includes(to);
}

export function isFinal(status: IntentStatus): boolean {
  return status === 'completed' || intentTransitions[status].length === 0;
}

/** In the provider's hands: it can be neither cancelled nor expire. */
export function isSubmitted(status: IntentStatus): boolean {
  return status === 'signing' || status === 'broadcasting' || status === 'confirming';
}
