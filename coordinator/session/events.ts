/** What a session's actor lets the world observe: every change of it, with the nodes to blame. Never a secret. */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CoordinatorEffect } from '../messages.ts';
import type { SessionRecord } from './record.ts';
import type { SessionState } from './transitions.ts';

const names: Readonly<Record<SessionState, string>> = {
  [ReceiptState.ACCEPTED]: 'accepted',
  [ReceiptState.PENDING_HUMAN_APPROVAL]: 'pending',
  [ReceiptState.RESUMED]: 'resumed',
  [ReceiptState.BACKEND_COMPLETED]: 'completed',
  [ReceiptState.BACKEND_FAILED]: 'failed',
  [ReceiptState.DENIED]: 'denied',
  [ReceiptState.EXPIRED]: 'expired',
  [ReceiptState.REVOKED]: 'revoked',
};

/**
 * The event of a record that has just been written. `before`: the state it had, so that a step within a state is told
 * apart from a new state. `culprits`: the nodes that this change blames; a signing session also names those of before.
 */
export function sessionEvent(
  record: SessionRecord,
  before: SessionState | undefined,
  culprits: readonly number[] = [],
): CoordinatorEffect {
  const { tenant, sessionId, state, reasonCode, epoch, ceremony } = record;
  const isDkg = ceremony.kind === 'dkg';
  return {
    kind: 'emit',
    event: {
      type: `${ceremony.kind}.session.${state === before ? 'progressed' : names[state]}`,
      level: culprits.length > 0 ? 'error' : 'debug',
      fields: {
        tenant,
        session: sessionId,
        reason: reasonCode,
        epoch,
        attempt: ceremony.attempt,
        network: isDkg ? ceremony.networkId : ceremony.facts.networkId,
        culprits: isDkg ? culprits : ceremony.excluded,
      },
    },
  };
}
