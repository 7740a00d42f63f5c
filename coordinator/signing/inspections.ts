/** A sandbox gateway's view of a signing session. An inspection changes no session, whatever its state. */
import { participantsOf } from '../../core/crypto/participants.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { InspectCall } from '../contract/messages.ts';
import { isOpen } from '../contract/transitions.ts';
import { inspectionReply } from '../session/inspection-replies.ts';
import { bindsSigners } from './attempt.ts';
import { attemptOf, partialsOf } from './round.ts';
import { isLoading, type SigningSessionStep } from './state.ts';

/** The number of its nodes is in the key's record: without it the call waits until the key is loaded. */
export function inspect(turn: SigningSessionStep, call: InspectCall): void {
  const { work } = turn.state;
  work.sandbox = { ...work.sandbox, inspections: [...work.sandbox.inspections, call] };
}

/** Answers every inspection once the key was loaded, in a step without a write. */
export function serveInspections(turn: SigningSessionStep): void {
  const { record, work } = turn.state;
  if (work.sandbox.inspections.length === 0 || isLoading(work)) return;
  const { ceremony } = record;
  const key = work.key.kind === 'known' ? work.key.record : undefined;
  // The partials that a restart lost are requested again, if the session continues.
  const { submitted, given } = isOpen(record.state) ? partialsOf(work.round) : ceremony;
  const inHand = {
    cluster: turn.config.roster.number ?? firstCluster,
    attempt: Math.max(work.round.history.attempts, ceremony.attempt),
    culprits: [...ceremony.excluded],
    submitted: [...submitted],
    signers: signersOf(turn, submitted),
    given: [...given],
    keySession: ceremony.facts.keyId,
    threshold: key?.threshold ?? 0,
    totalNodes: key?.totalNodes ?? 0,
    participants: key ? [...participantsOf(key)] : [],
    curve: ceremony.curve,
    keyScheme: key?.scheme ?? '',
    keyExposed: key?.exposed ?? false,
  };
  for (const call of work.sandbox.inspections) turn.effects.push(inspectionReply(call, record, inHand));
  work.sandbox = { ...work.sandbox, inspections: [] };
}

/** FROST binds the signers of an attempt when it draws their nonces; mock ECDSA takes any partials. */
function signersOf({ state: { record, work } }: SigningSessionStep, submitted: readonly number[]): number[] {
  const attempt = attemptOf(work.round);
  if (isOpen(record.state) && attempt && bindsSigners(attempt))
    return attempt.nonces.map(({ nodeId }) => nodeId).sort(byNumber);
  return record.state === ReceiptState.BACKEND_COMPLETED ? [...submitted].sort(byNumber) : [];
}

const byNumber = (a: number, b: number): number => a - b;
