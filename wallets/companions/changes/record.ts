/** A proposed change: the request of an operation, what it would change, and the votes on it. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { Vote } from '../../custody/intents/public.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';
import type { ProposalStatus } from './states.ts';

export interface Difference {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface ProposalRecord extends Versioned {
  readonly status: ProposalStatus;
  readonly operation: string;
  /** Sealed, since it may hold a secret: `ProposedRequest` as JSON. */
  readonly request: string;
  /** As the change's event names it: its version binds the proposal to the one before. */
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly difference: readonly Difference[];
  readonly initiator: string;
  /** It is decided only under the control that it was proposed under. */
  readonly controlVersion: number;
  readonly quorum: number;
  readonly approvers: readonly string[];
  readonly approvals: readonly Vote[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly expiresAtMs: number;
}

/** What the proposed operation gets. */
export interface ProposedRequest {
  readonly params?: { readonly id: string } | undefined;
  readonly body?: JsonObject | undefined;
}

export const proposalsIndex = 'change-proposals';

export function ofStatusIndex(status: ProposalStatus): string {
  return `${proposalsIndex}:${status}`;
}

export const proposalType: RecordType<ProposalRecord> = {
  name: 'change_proposal',
  status: ({ status }) => status,
  indices: ({ status }) => [proposalsIndex, ofStatusIndex(status)],
};

/** For `VoteSeal`: all that decides, and nothing that votes change. */
export function votedOn(record: ProposalRecord): { readonly id: string; readonly policyReceipt: string } {
  const { id, operation, request, resource, initiator, controlVersion, quorum, approvers, expiresAtMs } = record;
  const terms = [operation, request, resource, initiator, controlVersion, quorum, approvers, expiresAtMs];
  return { id, policyReceipt: JSON.stringify(terms) };
}
