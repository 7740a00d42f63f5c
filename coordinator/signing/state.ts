/**
 * The state of a signing session's actor: the durable record, and the volatile work, which is lost with the process: the
 * session's key, the round (round.ts) with its knowledge of the nodes (nodes-seen.ts), the waiting calls (queue.ts), and
 * the calls of a sandbox (sandbox-work.ts).
 *
 * A step never changes its input state. Its turn works on a draft: a copy of the work, one level deep, whose
 * fields it replaces by new values. So the old state is intact when the step's write is refused.
 */
import type { Address, Context, Step } from '../../core/actors/contract.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import type { VendorSettled } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { ownKeysOf } from '../../proto/key-schemes.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type ClientCall,
  type CoordinatorMessage,
  type CoordinatorWrite,
  clusterAddress,
} from '../contract/messages.ts';
import type { KeyRecord, SessionOf, SigningFacts, SigningRecord } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import type { SigningTask } from '../keystores/public.ts';
import { quote } from '../session/message-text.ts';
import type { StepResult } from '../session/replies.ts';
import { beginTurn, hasWritten, type SessionStep } from '../session/turn.ts';
import { type NodesSeen, nothingSeen, readyNodes, watchEnded } from './nodes-seen.ts';
import { emptyQueue, hasCalls, type Queue } from './queue.ts';
import { newRound, type Round, roundLeft } from './round.ts';
import { noSandboxWork, type SandboxWork, waitsToSee } from './sandbox-work.ts';

export type SigningSession = SessionOf<SigningRecord>;
export type InitiateCall = Extract<ClientCall, { method: 'initiateSigning' | 'sign' }>;
export type ResumeCall = Extract<ClientCall, { method: 'resumeSession' }>;

/** The signing key from the store. */
export type SessionKey =
  | { readonly kind: 'known'; readonly record: KeyRecord }
  /** `tampered`: no coordinator wrote its record. `loading`: the actor has requested its record. */
  | { readonly kind: 'unread' | 'missing' | 'tampered'; readonly loading: boolean };

export interface VendorSettlement {
  readonly from: Address;
  readonly said: VendorSettled;
}

export interface SigningWork {
  readonly key: SessionKey;
  /** Once the key is known and the request was validated against it. */
  readonly task: SigningTask | undefined;
  readonly round: Round;
  readonly nodes: NodesSeen;
  readonly queue: Queue;
  readonly sandbox: SandboxWork;
  /** The vendor's decision, until the key is loaded. */
  readonly settled: VendorSettlement | undefined;
}

/** The work of a step's next state. */
export type Draft = { -readonly [Field in keyof SigningWork]: SigningWork[Field] };

export type SigningState =
  /** `tampered`: its record is not as a coordinator wrote it. */
  | { readonly phase: 'notCreated'; readonly tampered: boolean }
  /** The request is being validated; its key is loading, or its outcome was forced. */
  | {
      readonly phase: 'opening';
      readonly call: InitiateCall;
      readonly facts: SigningFacts;
      /** The session that holds the intent and ends when this one begins, once the store has named it. */
      readonly holder?: SigningSession;
    }
  | OpenState;

export type OpenState = { readonly phase: 'open'; readonly record: SigningSession; readonly work: SigningWork };
export type SigningStep = Step<SigningState, CoordinatorMessage, CoordinatorWrite>;
export type SigningSessionStep = SessionStep<SigningSession, Draft>;

/** The work of a session that begins, or that was loaded. */
export function newWork({ state, ceremony }: SigningSession): SigningWork {
  return {
    key: { kind: 'unread', loading: false },
    task: undefined,
    round: newRound(state, ceremony),
    nodes: nothingSeen,
    queue: emptyQueue,
    sandbox: noSandboxWork,
    settled: undefined,
  };
}

export function beginSigningTurn(
  { record, work }: OpenState,
  context: Context,
  config: SessionConfig,
): SigningSessionStep {
  // Field by field, like every object of the hot path: objects built by spreading have different hidden classes.
  const draft = {
    key: work.key,
    task: work.task,
    round: work.round,
    nodes: work.nodes,
    queue: work.queue,
    sandbox: work.sandbox,
    settled: work.settled,
  };
  return beginTurn({ phase: 'open', record, work: draft }, context, config);
}

/** Whether a call or a preview wants partials. */
export function isBusy({ queue, sandbox }: SigningWork): boolean {
  return hasCalls(queue) || waitsToSee(sandbox);
}

/** The session's key. Throws if it is not loaded. */
export function knownKey({ key }: SigningWork): KeyRecord {
  if (key.kind !== 'known') throw new Error(`the session's key is ${key.kind}`);
  return key.record;
}

/** A vendor holds the session's key: for other keys no node's message about orders counts. */
export function isAtVendor({ key }: SigningWork): boolean {
  return key.kind === 'known' && ownKeysOf(key.record.scheme) === 'vendor';
}

export function isLoading({ key }: SigningWork): boolean {
  return key.kind !== 'known' && key.loading;
}

/** The reason why a session without its key cannot continue. */
export function keyFault({ key }: SigningWork, keyId: string): CallAnswer {
  if (key.kind === 'tampered')
    return answer('STORE_TAMPERED', `the stored key ${quote(keyId)} is not as it was written`);
  return answer('WALLET_KEY_NOT_FOUND', `the key ${quote(keyId)} of this session is missing`);
}

/** Nodes that this session may ask at all. */
export function participants(state: OpenState): number[] {
  return participantsOf(knownKey(state.work)).filter((id) => mayAnswer(state, id));
}

/** Whether a node is one of them. */
export function isParticipant(state: OpenState, nodeId: number): boolean {
  return participantsOf(knownKey(state.work)).includes(nodeId) && mayAnswer(state, nodeId);
}

/** Participants that are ready, as far as known, and not silent in this round. */
export function healthyNodes(state: OpenState): number[] {
  return participantsOf(knownKey(state.work)).filter((id) => mayAnswer(state, id) && isHeard(state, id));
}

/** Whether a node is one of them. */
export function isHealthy(state: OpenState, nodeId: number): boolean {
  return isParticipant(state, nodeId) && isHeard(state, nodeId);
}

/** Of a node that holds a share. */
function mayAnswer({ record, work }: OpenState, nodeId: number): boolean {
  return !record.ceremony.excluded.includes(nodeId) && !work.nodes.unable.has(nodeId);
}

function isHeard({ work: { nodes } }: OpenState, nodeId: number): boolean {
  return !nodes.silent.has(nodeId) && (readyNodes(nodes)?.has(nodeId) ?? true);
}

/** The signature in every answer of a completed session. */
export function signatureResult(record: SigningSession): StepResult {
  if (record.state !== ReceiptState.BACKEND_COMPLETED) return {};
  const { signature, recoveryId } = record.ceremony;
  return {
    fullSignature: Buffer.from(signature, 'hex'),
    recoveryId: recoveryId < 0 ? new Uint8Array() : Uint8Array.of(recoveryId),
  };
}

/** Unsubscribes from nodes: ends the timers and the watch, and withdraws a pending draw. */
export function leaveNodes(turn: SigningSessionStep): void {
  const { work } = turn.state;
  if (work.nodes.watch) turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
  if (work.round.phase === 'drawing') {
    turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } });
  }
  turn.effects.push({ kind: 'cancelTimer', name: 'silence' }, { kind: 'cancelTimer', name: 'quorum' });
  work.nodes = watchEnded(work.nodes);
}

/** No call waits: the round pauses. */
export function leaveRound(turn: SigningSessionStep): void {
  leaveNodes(turn);
  turn.state.work.round = roundLeft(turn.state.work.round);
}

/**
 * The step of a turn: it continues without a new input when calls wait behind a write or behind each other, and leaves memory when
 * nothing waits and the session is not open (a paused one may be revoked in the store by a newer one).
 */
export function stepOf(turn: SigningSessionStep): SigningStep {
  const { record, work } = turn.state;
  const hasInbox = work.queue.inbox.length > 0;
  const waits = isBusy(work) || work.sandbox.inspections.length > 0;
  if (hasInbox ? !isLoading(work) : waits && hasWritten(turn)) {
    turn.effects.push({ kind: 'send', to: turn.context.self, message: { kind: 'continue' } });
  } else if (!hasInbox && !waits && !isOpen(record.state)) {
    turn.effects.push({ kind: 'stop' });
  }
  return { state: turn.state, effects: turn.effects };
}
