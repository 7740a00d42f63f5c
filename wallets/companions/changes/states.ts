/**
 * The states of a proposed change.
 *
 * | Status | What happens | To |
 * |---|---|---|
 * | pending | a vote to approve, not the last one | pending |
 * | pending | the last vote to approve, with the change in the same commit | applied |
 * | pending | a vote to reject | rejected |
 * | pending | a token with `changes:write` cancels it | cancelled |
 * | pending | its time is over | expired |
 */
import { leadingTo, type Transitions, unchangedIn } from '../../../gateway/api/state-changes.ts';

export const proposalStatuses = ['pending', 'applied', 'rejected', 'cancelled', 'expired'] as const;
export type ProposalStatus = (typeof proposalStatuses)[number];

const transitions: Transitions<ProposalStatus> = {
  pending: ['applied', 'rejected', 'cancelled', 'expired'],
  applied: [],
  rejected: [],
  cancelled: [],
  expired: [],
};

/** By operation. A repeated vote changes nothing, in any state. */
export const proposalStates = {
  vote: {
    ...unchangedIn<ProposalStatus>(...proposalStatuses),
    pending: ['pending', 'applied', 'rejected'] as const,
  },
  cancel: leadingTo(transitions, 'cancelled'),
};
