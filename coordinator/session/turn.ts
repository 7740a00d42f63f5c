/**
 * One turn of a session's actor, the same for every kind of ceremony: the next state, the effects so
 * far, and the rules of a write.
 *
 * The work is volatile. A turn changes a draft of it, never the work of the step's input state. So after a refused write every
 * call is still in its place, and `persistRefused` returns the call of the refused step: every call gets an answer.
 */
import type { Context } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type CallFacts,
  type ClientCall,
  type CoordinatorEffect,
  clusterAddress,
  sessionKey,
} from '../contract/messages.ts';
import { isRepeat, type KeyRecord, type SessionRecord, withAnswered } from '../contract/record.ts';
import { isTerminal } from '../contract/transitions.ts';
import { changeEvent, observation } from './events.ts';
import { proofOf } from './receipts.ts';
import { errorEffect, replyEffect, type StepResult, unavailableEffect } from './replies.ts';
import { retained } from './retained.ts';

/** Starts the timer after which a session without calls leaves memory. */
export function startIdle({ idleMs = 60_000 }: SessionConfig): CoordinatorEffect {
  return { kind: 'startTimer', name: 'idle', afterMs: idleMs };
}

/** The most waiting calls of one session. */
export function callsWaitingMax({ callsWaitingMax: max = 256 }: SessionConfig): number {
  return max;
}

export interface SessionStep<R extends SessionRecord, W> {
  /** `work`: this turn's own draft. */
  state: { readonly phase: 'open'; readonly record: R; readonly work: W };
  readonly effects: CoordinatorEffect[];
  readonly context: Context;
  readonly config: SessionConfig;
}

/**
 * What `commit` returns. A step has one write, and decides nothing after it: a function that may write returns this or undefined,
 * and so its callers stop: `expire(turn) ?? advance(turn)`.
 */
export type Persisted = 'persisted';

export function beginTurn<R extends SessionRecord, W>(
  state: SessionStep<R, W>['state'],
  context: Context,
  config: SessionConfig,
): SessionStep<R, W> {
  return { state, effects: [], context, config };
}

export function hasWritten<R extends SessionRecord, W>({ effects }: SessionStep<R, W>): boolean {
  return effects.some(({ kind }) => kind === 'persist');
}

/** Answers a call; its session is in `turn.state`. A turn's answers after its write are to the calls that it is about. */
export function reply<R extends SessionRecord, W>(
  turn: SessionStep<R, W>,
  call: ClientCall,
  given: CallAnswer,
  result: StepResult = {},
): void {
  const { record } = turn.state;
  const proof = proofOf(call, given, record, turn.config.resumeKey, turn.context);
  turn.effects.push(replyEffect(call, proof, result, hasWritten(turn) || isRepeat(record, call)));
}

/**
 * Decides the session's next record, and the key that it made or binds, if any; `work`: the draft after the write. `cause`: the
 * call that the change answers, for its event; one of them if several waited.
 */
export function commit<R extends SessionRecord, W>(
  turn: SessionStep<R, W>,
  record: R,
  work: W,
  more: {
    readonly key?: KeyRecord | undefined;
    /** Of a step within a state. */
    readonly event?: LoggedEvent | undefined;
    readonly binds?: KeyRecord | undefined;
    readonly culprits?: readonly number[];
    readonly cause?: CallFacts | undefined;
    /** Calls whose repeat would be refused: their repeats get the session's state. */
    readonly answers?: readonly CallFacts[];
  } = {},
): Persisted {
  if (hasWritten(turn)) throw new Error('a step has one write');
  const { record: before } = turn.state;
  const { key, binds, culprits, cause, answers = [] } = more;
  // A step within a state has no event but its own.
  const event = record.state === before.state ? more.event : changeEvent(record, turn.context, cause, culprits);
  const stored = withAnswered(retained(record), answers);
  const write: { kind: 'update'; session: R; event?: LoggedEvent; key?: KeyRecord; binds?: KeyRecord } = {
    kind: 'update',
    session: stored,
  };
  if (event) write.event = event;
  if (key) write.key = key;
  if (binds) write.binds = binds;
  turn.effects.push({ kind: 'persist', write });
  turn.state = { phase: 'open', record: stored, work };
  turn.effects.push(observation(record, before.state, culprits));
  return 'persisted';
}

/** Whether a new call may wait for its turn; otherwise it is refused, since too many already wait. */
export function mayWait<R extends SessionRecord, W>(
  turn: SessionStep<R, W>,
  call: ClientCall,
  waiting: number,
): boolean {
  turn.effects.push(startIdle(turn.config));
  if (waiting < callsWaitingMax(turn.config)) return true;
  turn.effects.push(tooManyWaiting(call));
  return false;
}

export function tooManyWaiting(call: CallFacts): CoordinatorEffect {
  return errorEffect(call, CallErrorCode.OVERLOADED, 'this session has too many calls waiting: repeat later');
}

/** The lifetime is over, and the record does not show it yet. */
export function isOverdue(record: SessionRecord, nowMs: number): boolean {
  return !isTerminal(record.state) && nowMs >= record.expiresMs;
}

/** Unsubscribes from nodes and nonces. */
export function leaveCluster(): CoordinatorEffect[] {
  return [
    { kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } },
    { kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } },
  ];
}

/** Ends the actor, as when the store did not answer: no call has its effect confirmed; the next call reads the durable state again. */
export function failCalls(
  calls: readonly ClientCall[],
  answered: (call: ClientCall) => CoordinatorEffect = unavailableEffect,
): CoordinatorEffect[] {
  return [...calls.map((call) => answered(call)), ...leaveCluster(), { kind: 'stop' }];
}

/** The same for a session that does not exist, of another kind, or of another tenant. */
export function notFound(call: ClientCall, context: Context, config: SessionConfig): CoordinatorEffect {
  return replyEffect(
    call,
    proofOf(call, call.fault ?? answer('SESSION_NOT_FOUND'), undefined, config.resumeKey, context),
  );
}

/** The stored session is not as a coordinator wrote it: the answer uses and contains nothing of it. */
export function tampered(call: ClientCall, context: Context, config: SessionConfig): CoordinatorEffect {
  const given = call.fault ?? answer('STORE_TAMPERED');
  return replyEffect(call, proofOf(call, given, undefined, config.resumeKey, context));
}

/** The store key of the session that an address "<kind>/<tenant>/<session>" names. */
export function durableKeyOf(self: string): string {
  const [, tenant, sessionId] = self.split('/');
  return sessionKey(tenant!, sessionId!);
}
