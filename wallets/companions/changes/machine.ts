/** All steps of a proposal, each with its event and its due time. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import { create, update } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import { type ProposalRecord, proposalType } from './record.ts';
import type { ProposalStatus } from './states.ts';
import { proposalView } from './view.ts';

export const proposalDuePrefix = 'change/';

export interface ProposalStep {
  readonly after: ProposalRecord;
  readonly change: Change;
}

export function openProposal(reporter: Reporter, after: ProposalRecord): ProposalStep {
  return {
    after,
    change: {
      puts: [create(proposalType, after)],
      events: [eventAbout(reporter, 'created', after)],
      due: [{ member: proposalDuePrefix + after.id, atMs: after.expiresAtMs }],
    },
  };
}

/** The next version of a pending one, pending or at its end. */
export function nextProposal(
  reporter: Reporter,
  before: ProposalRecord,
  status: ProposalStatus,
  approvals = before.approvals,
): ProposalStep {
  if (before.status !== 'pending') throw new Error(`a proposal that is ${before.status} does not change`);
  const updatedAtMs = Math.max(before.updatedAtMs, reporter.nowMs);
  const after: ProposalRecord = { ...before, version: before.version + 1, status, approvals, updatedAtMs };
  const isOpen = status === 'pending';
  return {
    after,
    change: {
      puts: [update(proposalType, before, after)],
      events: [eventAbout(reporter, isOpen ? 'updated' : status, after)],
      ...(isOpen ? {} : { due: [{ member: proposalDuePrefix + before.id, atMs: undefined }] }),
    },
  };
}

function eventAbout(reporter: Reporter, happening: string, record: ProposalRecord) {
  const about = { resource: proposalType.name, record, object: proposalView(record) };
  return eventOf(reporter, { type: `change_proposal.${happening}`, ...about });
}
