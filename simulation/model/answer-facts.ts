/**
 * The facts behind the model's rules of answers: a run's writes and answers so far, and texts that the rules of signing and of
 * keys share.
 */
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Observation } from '../cluster/observation.ts';
import type { History } from './history.ts';
import type { Refusals } from './refusals.ts';
import type { WaitingCalls } from './waiting-calls.ts';

const S = ReceiptState;

export type Promised = Extract<Observation, { kind: 'promised' }>;

export interface AnswerFacts {
  readonly history: History;
  /** Of the roster. */
  readonly nodesTotal: number;
  /** Resume tokens that were issued, to session and epoch. Secret. */
  readonly tokens: ReadonlyMap<string, { readonly session: string; readonly epoch: bigint }>;
  /** "tenant/session node": the number of calls that asked for this node's partial. */
  readonly steps: ReadonlyMap<string, number>;
  readonly refusals: Refusals;
  readonly waiting: WaitingCalls;
  /** The time that a call waits for unreachable nodes. */
  readonly nodesWaitMs: number;
  /** "node/2 tenant/key": shares of nodes. */
  readonly held: ReadonlySet<string>;
}

/** An answer: its reason code, the record that its checkpoint names (undefined: none), and when its call left the gateway. */
export interface AnsweredCall {
  readonly call: Promised;
  readonly reason: string;
  readonly record: SessionRecord | undefined;
  readonly beganMs: number;
}

export const isOpen = (state: ReceiptState) => state === S.ACCEPTED || state === S.RESUMED;
export const isPaused = (state: ReceiptState) => state === S.PENDING_HUMAN_APPROVAL || state === S.BACKEND_FAILED;

/** The answer to a call whose session does not exist. */
export function notFound(sessionId: string, isUnknown: boolean, reason: string): string | undefined {
  if (sessionId === '') return reason === 'INVALID_REQUEST' ? undefined : `it names no session, and hears ${reason}`;
  if (!isUnknown) return `it hears ${reason} of a session that exists`;
  return reason === 'SESSION_NOT_FOUND' ? undefined : `it hears ${reason} of a session that does not exist`;
}

/** Only the wallet service makes the keys of wallets and vaults. */
export function isHidden(sessionId: string, walletService: boolean): boolean {
  return /^(wal|vky)_/.test(sessionId) && !walletService;
}
