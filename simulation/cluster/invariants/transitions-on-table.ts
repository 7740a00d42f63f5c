/**
 * Sessions move only along the table, and end once; every durable change raises the epoch by one and has its own checkpoint; and
 * the epoch that clients see of a session never decreases.
 */
import { initialStates, isOpen, mayFollow } from '../../../coordinator/contract/transitions.ts';
import type { Checker, Observation } from '../observation.ts';
import { proofIn } from './answer-parts.ts';
import { DurableSessions, type SessionChange, stateName } from './sessions.ts';

export function transitionsOnTable(): Checker {
  const sessions = new DurableSessions();
  /** Checkpoint ids of all sessions. */
  const checkpoints = new Set<string>();
  /** The highest epoch of a session that a client has seen, with its checkpoint. */
  const told = new Map<string, { readonly epoch: bigint; readonly checkpointId: string }>();

  function changed({ record, before, begins }: SessionChange): string | undefined {
    const { sessionId, state, epoch, checkpointId } = record;
    if (checkpoints.has(checkpointId))
      return `session ${sessionId} has a checkpoint id at epoch ${epoch} that was given before`;
    checkpoints.add(checkpointId);
    if (begins) {
      if (before) return `session ${sessionId} begins twice`;
      if (epoch !== 1) return `session ${sessionId} begins at epoch ${epoch}`;
      return initialStates.includes(state) ? undefined : `session ${sessionId} begins in state ${stateName(state)}`;
    }
    if (!before) return `session ${sessionId} changes and never began`;
    if (epoch !== before.epoch + 1) return `session ${sessionId} goes from epoch ${before.epoch} to ${epoch}`;
    // A step within a state is taken only while the session is open.
    const allowed = state === before.state ? isOpen(state) : mayFollow(before.state, state);
    return allowed ? undefined : `session ${sessionId} goes from ${stateName(before.state)} to ${stateName(state)}`;
  }

  function promised(tenant: string, response: unknown): string | undefined {
    const { receipt, checkpoint } = proofIn(response) ?? {};
    if (!receipt || !checkpoint || receipt.sessionId === '') return undefined;
    const { sessionId, reasonCode } = receipt;
    const { epoch, checkpointId } = checkpoint;
    const name = `${tenant}/${sessionId}`;
    const before = told.get(name);
    // It names another session, in its state when the call was refused; that session's own answers may be newer.
    if (before && reasonCode === 'DUPLICATE_INTENT' && epoch < before.epoch) return undefined;
    if (before && epoch < before.epoch)
      return `session ${sessionId} is told to be at epoch ${epoch} after ${before.epoch}`;
    if (before && (epoch === before.epoch) !== (checkpointId === before.checkpointId)) {
      return `session ${sessionId} is told with ${epoch === before.epoch ? 'two checkpoints' : 'the same checkpoint'} at epochs ${before.epoch} and ${epoch}`;
    }
    told.set(name, { epoch, checkpointId });
    return undefined;
  }

  return {
    invariant: 'transitions-on-table',
    observe(observation: Observation) {
      if (observation.kind === 'promised') return promised(observation.tenant, observation.response);
      for (const change of sessions.take(observation)) {
        const wrong = changed(change);
        if (wrong) return wrong;
      }
      return undefined;
    },
  };
}
