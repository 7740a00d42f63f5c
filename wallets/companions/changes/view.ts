/** Proposed changes as the API and events show them. */
import type Type from 'typebox';
import { timestamp } from '../../../proto/timestamps.ts';
import type { ProposalRecord } from './record.ts';
import type { ChangeProposal } from './schemas.ts';

export function proposalView(record: ProposalRecord): Type.Static<typeof ChangeProposal> {
  const { id, status, operation, resource, difference, initiator, quorum, approvers, approvals, version } = record;
  return {
    id,
    status,
    operation,
    resource,
    difference: [...difference],
    initiator,
    approvals: approvals.map(({ atMs, mac: _, ...vote }) => ({ ...vote, at: timestamp(atMs) })),
    approvals_required: quorum,
    approvers: [...approvers],
    version,
    created_at: timestamp(record.createdAtMs),
    updated_at: timestamp(record.updatedAtMs),
    expires_at: timestamp(record.expiresAtMs),
  };
}
