/**
 * The one table of session states and their permitted changes. Receipts report the states; docs/signing-api.md draws the table.
 *
 * REPLAY_REJECTED and UNSUPPORTED_CLIENT_CONTRACT_VERSION describe only calls; sessions never have them.
 */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

const S = ReceiptState;

/** A state a session can be in. */
export type SessionState =
  | ReceiptState.ACCEPTED
  | ReceiptState.PENDING_HUMAN_APPROVAL
  | ReceiptState.RESUMED
  | ReceiptState.DENIED
  | ReceiptState.EXPIRED
  | ReceiptState.REVOKED
  | ReceiptState.BACKEND_COMPLETED
  | ReceiptState.BACKEND_FAILED;

/** What a session may begin in. */
export const initialStates: readonly SessionState[] = [
  S.ACCEPTED,
  S.PENDING_HUMAN_APPROVAL,
  S.DENIED,
  S.EXPIRED,
  S.REVOKED,
  S.BACKEND_FAILED,
];

/** From a state to those that may follow it. A state without followers ends the session. */
export const transitions: Readonly<Record<SessionState, readonly SessionState[]>> = {
  [S.PENDING_HUMAN_APPROVAL]: [S.RESUMED, S.DENIED, S.EXPIRED, S.REVOKED],
  [S.ACCEPTED]: [S.BACKEND_COMPLETED, S.BACKEND_FAILED, S.EXPIRED, S.REVOKED],
  [S.RESUMED]: [S.BACKEND_COMPLETED, S.BACKEND_FAILED, S.EXPIRED, S.REVOKED],
  [S.BACKEND_FAILED]: [S.RESUMED, S.EXPIRED, S.REVOKED],
  [S.DENIED]: [],
  [S.EXPIRED]: [],
  [S.REVOKED]: [],
  [S.BACKEND_COMPLETED]: [],
};

export function mayFollow(from: SessionState, to: SessionState): boolean {
  return transitions[from].includes(to);
}

/** The session takes steps: shares may be exchanged, partials submitted. */
export function isOpen(state: SessionState): boolean {
  return state === S.ACCEPTED || state === S.RESUMED;
}

/** The session is paused and carries a resume token. */
export function isResumable(state: SessionState): boolean {
  return state === S.PENDING_HUMAN_APPROVAL || state === S.BACKEND_FAILED;
}

export function isTerminal(state: SessionState): boolean {
  return transitions[state].length === 0;
}
