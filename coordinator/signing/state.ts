/**
 * The state of a signing session's actor: the durable record, and the work in hand (calls that wait, the attempt with its
 * nonces), which is lost with the process.
 */
import type { Step } from '../../actors/contract.ts';
import { participantsOf } from '../../crypto/participants.ts';
import type { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import {
  type ClientCall,
  type CoordinatorMessage,
  type CoordinatorWrite,
  clusterAddress,
  type InspectCall,
  type PreviewCall,
} from '../messages.ts';
import { type Answer, answer } from '../session/answers.ts';
import type { KeyRecord, SessionOf, SigningFacts, SigningRecord } from '../session/record.ts';
import type { StepResult } from '../session/replies.ts';
import { isOpen } from '../session/transitions.ts';
import type { SessionTurn, Waiting } from '../session/turn.ts';
import { quote } from '../session/wording.ts';
import type { Attempt, SigningTask } from './attempt.ts';

export type SigningSession = SessionOf<SigningRecord>;
export type InitiateCall = Extract<ClientCall, { method: Method.INITIATE_SIGNING | Method.SIGN }>;
export type SubmitCall = Extract<ClientCall, { method: Method.SUBMIT_SIGNATURE_SHARE }>;
export type ResumeCall = Extract<ClientCall, { method: Method.RESUME_SESSION }>;

/** A partial that a caller gave in a node's place. */
export interface Offer {
  readonly call: SubmitCall;
  readonly nodeId: number;
  readonly partial: Uint8Array;
}

/** What a node knows durably that keeps it from signing; a reason code. */
export type LastingRefusal = 'KEYSTORE_MISMATCH' | 'INTENT_MESSAGE_CHANGED';

export interface Work extends Waiting {
  /** null: there is no such key. undefined: not looked up yet. */
  key: KeyRecord | null | undefined;
  /** With `key` null: something stands in its place that no coordinator wrote. */
  keyTampered: boolean;
  loadingKey: boolean;
  task: SigningTask | undefined;
  attempt: Attempt | undefined;
  /** The highest attempt number so far. */
  attempts: number;
  /** The ticket of the draw under way; 0: none. */
  drawing: number;
  tickets: number;
  watching: boolean;
  /** Who is ready, once the cluster said so. */
  ready: ReadonlySet<number> | undefined;
  /** Asked in this round and silent for too long, or out of reach. */
  readonly silent: Set<number>;
  /** Cannot answer in this session: the node holds no share of the key, or keeps refusing. */
  readonly unable: Set<number>;
  /** Those of them that will never sign this, by what they know themselves, and why. */
  readonly refusing: Map<number, LastingRefusal>;
  /** Nodes that did not sign for want of a gateway's order, and what they said. */
  readonly refusedOrder: Map<number, string>;
  /** How often a node said in this session that it does not know its nonce. */
  readonly forgot: Map<number, number>;
  /** Nodes whose own partial was in when an attempt was given up or lost: they are asked again, until it is in. */
  readonly askAgain: Set<number>;
  /** Nodes whose partial a caller had given when an attempt was given up or lost; told with the next accepted one. */
  readonly voided: Set<number>;
  /** Calls that want the whole signature. */
  readonly gathers: SubmitCall[];
  /** Calls that want one node's partial, or gave it and wait for the write. */
  readonly steps: Map<number, SubmitCall[]>;
  readonly offers: Offer[];
  /** Callers who want to see a partial that is not submitted. */
  previews: readonly Preview[];
  /** Nodes that were previewed, the latest first: they are drawn again, if they can be. */
  previewed: readonly number[];
  /** Who waits for the key to be told what is known. */
  inspections: readonly InspectCall[];
}

export interface Preview {
  readonly call: PreviewCall;
  /** Why there will be none; it is said in the next step without a write. */
  failed: Answer | undefined;
  /** An attempt was given up for it. */
  redrew: boolean;
}

export type SigningState =
  /** `tampered`: its record is not as a coordinator wrote it. */
  | { readonly phase: 'unborn'; readonly tampered: boolean }
  /** The request is being looked at; its key is being loaded, or it was forced. */
  | {
      readonly phase: 'opening';
      readonly call: InitiateCall;
      readonly facts: SigningFacts;
      /** Who holds the intent's place and ends with this session's beginning, once the store has named it. */
      readonly holder?: SigningSession;
    }
  | OpenState;

export type OpenState = { readonly phase: 'open'; readonly record: SigningSession; readonly work: Work };
export type SigningStep = Step<SigningState, CoordinatorMessage, CoordinatorWrite>;
export type Turn = SessionTurn<SigningSession, Work>;

/** The work of a session that begins, or that was loaded: partials that were in are asked for again. */
export function noWork(record: SigningSession): Work {
  const { attempt, submitted, given } = record.ceremony;
  const goesOn = isOpen(record.state);
  return {
    inbox: [],
    unsaid: [],
    key: undefined,
    keyTampered: false,
    loadingKey: false,
    task: undefined,
    attempt: undefined,
    attempts: attempt,
    drawing: 0,
    tickets: 0,
    watching: false,
    ready: undefined,
    silent: new Set(),
    unable: new Set(),
    refusing: new Map(),
    refusedOrder: new Map(),
    forgot: new Map(),
    askAgain: new Set(goesOn ? submitted.filter((id) => !given.includes(id)) : []),
    voided: new Set(goesOn ? given : []),
    gathers: [],
    steps: new Map(),
    offers: [],
    previews: [],
    previewed: [],
    inspections: [],
  };
}

export function isBusy(work: Work): boolean {
  return hasCalls(work) || work.previews.length > 0;
}

/** Somebody wants more than a look. */
export function hasCalls(work: Work): boolean {
  return work.gathers.length > 0 || work.steps.size > 0 || work.offers.length > 0;
}

/** The calls in the round. */
export function roundCalls(work: Work): SubmitCall[] {
  return [...work.gathers, ...[...work.steps.values()].flat(), ...work.offers.map((offer) => offer.call)];
}

/** Every call that still waits for its answer. */
export function waitingCalls(work: Work): ClientCall[] {
  return [...new Set([...work.unsaid, ...roundCalls(work), ...work.inbox])];
}

/** Nodes that this session may ask at all. */
export function participants({ record, work }: OpenState): number[] {
  return participantsOf(work.key!).filter((id) => !record.ceremony.excluded.includes(id) && !work.unable.has(id));
}

/** Why a session without its key cannot go on. */
export function keyFault(work: Work, keyId: string): Answer {
  if (work.keyTampered) return answer('STORE_TAMPERED', `the stored key ${quote(keyId)} is not as it was written`);
  return answer('WALLET_KEY_NOT_FOUND', `the key ${quote(keyId)} of this session is gone`);
}

/** Participants that are here, as far as is known, and were not silent in this round. */
export function healthyNodes(state: OpenState): number[] {
  const { silent, ready } = state.work;
  return participants(state).filter((id) => !silent.has(id) && (ready?.has(id) ?? true));
}

/** What a completed session gives back with every answer. */
export function signatureResult(record: SigningSession): StepResult {
  if (record.state !== ReceiptState.BACKEND_COMPLETED) return {};
  const { signature, recoveryId } = record.ceremony;
  return {
    fullSignature: Buffer.from(signature, 'hex'),
    recoveryId: recoveryId < 0 ? new Uint8Array() : Uint8Array.of(recoveryId),
  };
}

/** What the record keeps of the partials that are in, and of those that are asked for again. */
export function partialsOf(work: Pick<Work, 'attempt' | 'askAgain'>): Pick<SigningRecord, 'submitted' | 'given'> {
  const partials = [...(work.attempt?.partials ?? [])];
  const sorted = (ids: Iterable<number>) => [...new Set(ids)].sort((a, b) => a - b);
  return {
    submitted: sorted([...partials.map(([id]) => id), ...work.askAgain]),
    given: sorted(partials.filter(([, { origin }]) => origin === 'caller').map(([id]) => id)),
  };
}

/** No more interest in nodes: the timers and the watch end, a pending draw is taken back. */
export function leaveRound(turn: Turn): void {
  const { work } = turn.state;
  if (work.watching) turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
  if (work.drawing !== 0) turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } });
  turn.effects.push({ kind: 'cancelTimer', name: 'silence' }, { kind: 'cancelTimer', name: 'quorum' });
  work.watching = false;
  work.drawing = 0;
  work.ready = undefined;
  work.silent.clear();
  work.attempt?.asked.clear();
}

/**
 * The step of a turn: it goes on by itself when calls wait behind a write or behind each other, and leaves memory when
 * nothing waits and the session is not open (a paused one may be revoked in the store by a newer one).
 */
export function stepOf(turn: Turn): SigningStep {
  const { record, work } = turn.state;
  const waits = isBusy(work) || work.inspections.length > 0;
  if (work.inbox.length > 0 ? !work.loadingKey : turn.persisted && waits) {
    turn.effects.push({ kind: 'send', to: turn.context.self, message: { kind: 'continue' } });
  } else if (work.inbox.length === 0 && !waits && !isOpen(record.state)) {
    turn.effects.push({ kind: 'stop' });
  }
  return { state: turn.state, effects: turn.effects };
}
