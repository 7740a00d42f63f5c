/**
 * The state of a signing session's actor: the durable record, and the work in hand.
 *
 * The work (calls that wait, the attempt with its nonces) is volatile: it changes in place, and is lost with the process.
 * What a write decides is replaced, never changed in place, so that a refused write leaves every call where it was.
 */
import type { Context, Step } from '../../actors/contract.ts';
import type { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { SessionConfig } from '../config.ts';
import type { ClientCall, CoordinatorEffect, CoordinatorMessage, CoordinatorWrite } from '../messages.ts';
import { clusterAddress } from '../messages.ts';
import { type Answer, proofOf } from '../session/receipts.ts';
import type { KeyRecord, SessionOf, SigningFacts, SigningRecord } from '../session/record.ts';
import { replyEffect, type StepResult } from '../session/replies.ts';
import { isTerminal } from '../session/transitions.ts';
import type { Attempt, SigningTask } from './attempt.ts';

export type SigningSession = SessionOf<SigningRecord>;
export type InitiateCall = Extract<ClientCall, { method: Method.INITIATE_SIGNING }>;
export type SubmitCall = Extract<ClientCall, { method: Method.SUBMIT_SIGNATURE_SHARE }>;
export type ResumeCall = Extract<ClientCall, { method: Method.RESUME_SESSION }>;

/** A partial that a caller gave in a node's place. */
export interface Offer {
  readonly call: SubmitCall;
  readonly nodeId: number;
  readonly partial: Uint8Array;
}

export interface Work {
  /** Calls not looked at yet, oldest first. */
  readonly inbox: ClientCall[];
  /** null: there is no such key. undefined: not looked up yet. */
  key: KeyRecord | null | undefined;
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
  /** Asked in this gathering and silent for too long. */
  readonly silent: Set<number>;
  /** Cannot answer in this session: the node holds no share of the key, or keeps refusing. */
  readonly unable: Set<number>;
  /** How often a node said in this session that it does not know its nonce. */
  readonly forgot: Map<number, number>;
  /** Nodes whose own partial was in when an attempt was given up: they are asked again. */
  readonly askAgain: Set<number>;
  /** Calls that want the whole signature. */
  readonly gathers: SubmitCall[];
  /** Calls that want one node's partial. */
  readonly steps: Map<number, SubmitCall[]>;
  readonly offers: Offer[];
  /** What the next accepted partial's message has to add. */
  notice: string;
}

export type SigningState =
  | { readonly phase: 'unborn' }
  /** The request is being looked at; its key is being loaded, or it was forced. */
  | { readonly phase: 'opening'; readonly call: InitiateCall; readonly facts: SigningFacts }
  | { readonly phase: 'open'; readonly record: SigningSession; readonly work: Work };

export type OpenState = Extract<SigningState, { phase: 'open' }>;
export type SigningStep = Step<SigningState, CoordinatorMessage, CoordinatorWrite>;

/** One turn of the actor: the state it will leave behind, and the effects so far. */
export interface Turn {
  state: OpenState;
  readonly effects: CoordinatorEffect[];
  /** The step has its write already: nothing else may be decided in it. */
  persisted: boolean;
  readonly context: Context;
  readonly config: SessionConfig;
}

export function noWork(record: SigningSession): Work {
  return {
    inbox: [],
    key: undefined,
    loadingKey: false,
    task: undefined,
    attempt: undefined,
    attempts: record.ceremony.attempt,
    drawing: 0,
    tickets: 0,
    watching: false,
    ready: undefined,
    silent: new Set(),
    unable: new Set(),
    forgot: new Map(),
    askAgain: new Set(),
    gathers: [],
    steps: new Map(),
    offers: [],
    notice: '',
  };
}

export function isBusy(work: Work): boolean {
  return work.gathers.length > 0 || work.steps.size > 0 || work.offers.length > 0;
}

/** Every call that still waits for its answer. */
export function waitingCalls(work: Work): ClientCall[] {
  return [
    ...work.gathers,
    ...[...work.steps.values()].flat(),
    ...work.offers.map((offer) => offer.call),
    ...work.inbox,
  ];
}

/** Nodes that this session may ask at all. */
export function participants(record: SigningSession, work: Work): number[] {
  const key = work.key!;
  const ids: number[] = [];
  for (let id = 1; id <= key.totalNodes; id += 1) {
    if (!record.ceremony.excluded.includes(id) && !work.unable.has(id)) ids.push(id);
  }
  return ids;
}

/** Answers a call; its session is as `turn.state` has it. */
export function reply(turn: Turn, call: ClientCall, given: Answer, result: StepResult = {}): void {
  const { record } = turn.state;
  turn.effects.push(replyEffect(call, proofOf(call, given, record, turn.config.resumeKey, turn.context), result));
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

/**
 * Decides the session's next record. `work` is a fresh object for the time after; answers come after this call.
 */
export function commit(turn: Turn, record: SigningSession, work: Work): void {
  if (turn.persisted) throw new Error('a step has one write');
  turn.persisted = true;
  turn.effects.push({ kind: 'persist', write: { kind: 'update', session: record } });
  turn.state = { phase: 'open', record, work };
  turn.effects.push(sessionEvent(record));
}

/** The step of a turn: goes on by itself when calls wait behind a write, leaves memory when the session has ended. */
export function stepOf(turn: Turn): SigningStep {
  const { record, work } = turn.state;
  const waits = work.inbox.length > 0 || isBusy(work);
  if (turn.persisted && waits) {
    turn.effects.push({ kind: 'send', to: turn.context.self, message: { kind: 'continue' } });
  } else if (!waits && isTerminal(record.state)) {
    turn.effects.push({ kind: 'stop' });
  }
  return { state: turn.state, effects: turn.effects };
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
}

export function sessionEvent(record: SigningSession): CoordinatorEffect {
  const { tenant, sessionId, reasonCode, epoch, ceremony } = record;
  return {
    kind: 'emit',
    event: {
      type: `signing.session.${ReceiptState[record.state].toLowerCase()}`,
      level: 'debug',
      fields: {
        tenant,
        session: sessionId,
        reason: reasonCode,
        epoch,
        attempt: ceremony.attempt,
        culprits: ceremony.excluded,
      },
    },
  };
}
