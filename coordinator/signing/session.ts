/**
 * The actor "signing/<tenant>/<session>": one signing session, from InitiateSigning to its end.
 *
 * It is started by its first message, from its durable record if there is one. Between calls it may leave memory: what a
 * client was told is in the record; nonces and partials of the attempt in hand are not, and a new attempt follows.
 */
import type { Behaviour, Context } from '../../actors/contract.ts';
import { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { SessionConfig } from '../config.ts';
import {
  type ClientCall,
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  isLocal,
  keyKey,
  receivedBody,
  sessionKey,
} from '../messages.ts';
import { answer, proofOf } from '../session/receipts.ts';
import { replyEffect, unavailableEffect } from '../session/replies.ts';
import { isTerminal } from '../session/transitions.ts';
import { signingTask } from './attempt.ts';
import { expire, takeCalls } from './calls.ts';
import { continueOpening, effectiveKeystore, idleMs, initiate } from './initiation.ts';
import { drawn, giveUp, partialReply, pump } from './round.ts';
import {
  isBusy,
  noWork,
  type OpenState,
  type SigningSession,
  type SigningState,
  type SigningStep,
  stepOf,
  type Turn,
  waitingCalls,
} from './state.ts';
import { readPath } from './validation.ts';

export function signingBehaviour(
  config: SessionConfig,
): Behaviour<SigningState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: 'signing',
    mailboxMax: 256,
    durableKey: (self) => {
      const [, tenant, sessionId] = self.split('/');
      return sessionKey(tenant!, sessionId!);
    },
    start: (record) => {
      if (record?.kind !== 'session' || record.session.ceremony.kind !== 'signing') {
        return { state: { phase: 'unborn' }, effects: [] };
      }
      const session = record.session as SigningSession;
      return {
        state: { phase: 'open', record: session, work: noWork(session) },
        effects: [{ kind: 'startTimer', name: 'idle', afterMs: idleMs }],
      };
    },
    receive: (state, input, context) => receive(state, input, context, config),
  };
}

function receive(state: SigningState, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  switch (state.phase) {
    case 'unborn':
      return unborn(state, input, context, config);
    case 'opening':
      return continueOpening(state, input, context, config);
    case 'open':
      return open(state, input, context, config);
  }
}

function unborn(state: SigningState, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  if (input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'clientCall') {
    return { state, effects: [{ kind: 'stop' }] };
  }
  const { call } = input.message;
  if (call.method === Method.INITIATE_SIGNING) return initiate(call, context, config);
  return { state, effects: [notFound(call, context, config), { kind: 'stop' }] };
}

/** The same for a session that does not exist, of another kind, or of another tenant. */
function notFound(call: ClientCall, context: Context, config: SessionConfig): CoordinatorEffect {
  return replyEffect(call, proofOf(call, answer('SESSION_NOT_FOUND'), undefined, config.resumeKey, context));
}

function open(state: OpenState, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  const turn: Turn = { state, effects: [], persisted: false, context, config };
  const { work } = state;
  switch (input.kind) {
    case 'message':
      message(turn, input);
      break;
    case 'loaded': {
      work.loadingKey = false;
      work.key = input.record?.kind === 'key' ? input.record.key : null;
      prepare(turn);
      takeCalls(turn);
      break;
    }
    case 'loadFailed':
      return failCalls(turn);
    case 'timer':
      timer(turn, input.name);
      break;
    case 'undelivered': {
      const nodeId = nodeOf(input.to);
      if (nodeId === undefined) break;
      work.attempt?.asked.delete(nodeId);
      // Gone for now; the cluster says so too as soon as it knows.
      work.ready = new Set(
        [...(work.ready ?? work.attempt?.nonces.map((nonce) => nonce.nodeId) ?? [])].filter((id) => id !== nodeId),
      );
      break;
    }
    case 'persistRefused': {
      const { refusal } = input;
      if (refusal.kind === 'conflict' && refusal.code === 'EPOCH' && refusal.current?.kind === 'session') {
        // Somebody else changed the session (a newer session of the intent revoked it): answer by what stands there.
        return adopt(turn, refusal.current.session as SigningSession);
      }
      return failCalls(turn);
    }
  }
  return stepOf(turn);
}

function message(turn: Turn, input: Extract<CoordinatorInput, { kind: 'message' }>): void {
  const { work, record } = turn.state;
  const { message: said, from } = input;
  if (!isLocal(said)) {
    const body = receivedBody(said);
    const nodeId = nodeOf(from);
    if (body.case === 'partialReply' && nodeId !== undefined && !expire(turn)) partialReply(turn, nodeId, body.value);
    return;
  }
  switch (said.kind) {
    case 'clientCall':
      work.inbox.push(said.call);
      turn.effects.push({ kind: 'startTimer', name: 'idle', afterMs: idleMs });
      if (work.key === undefined && !isTerminal(record.state)) loadKey(turn);
      else takeCalls(turn);
      return;
    case 'continue':
      takeCalls(turn);
      return;
    case 'drawn':
      drawn(turn, said.ticket, said.nonces);
      return;
    case 'nodesChanged':
      if (!work.watching) return;
      work.ready = new Set(said.ready);
      for (const id of work.attempt?.asked ?? []) if (!work.ready.has(id)) work.attempt!.asked.delete(id);
      pump(turn);
      return;
    default:
      return;
  }
}

function timer(turn: Turn, name: string): void {
  const { work } = turn.state;
  switch (name) {
    case 'silence':
      for (const id of work.attempt?.asked ?? []) work.silent.add(id);
      pump(turn);
      return;
    case 'quorum':
      if (!expire(turn)) giveUp(turn);
      return;
    case 'idle':
      if (isBusy(work) || work.inbox.length > 0) {
        turn.effects.push({ kind: 'startTimer', name: 'idle', afterMs: idleMs });
      } else {
        turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } }, { kind: 'stop' });
      }
      return;
  }
}

function loadKey(turn: Turn): void {
  const { work, record } = turn.state;
  if (work.loadingKey) return;
  work.loadingKey = true;
  turn.effects.push({ kind: 'load', key: keyKey(record.tenant, record.ceremony.facts.keyId) });
}

/** The task of a session that was validated before, from its record and its key. */
function prepare(turn: Turn): void {
  const { work, record } = turn.state;
  const { facts, curve } = record.ceremony;
  if (!work.key || curve === '' || work.task) return;
  const path = readPath(facts.derivationPath);
  if ('fault' in path) return;
  work.task = signingTask(
    work.key,
    effectiveKeystore(facts.keystoreType),
    path.normal,
    Buffer.from(facts.messageHash, 'hex'),
  );
}

/** The store did not answer: nothing was promised; what is durable is read again at the next call. */
function failCalls(turn: Turn): SigningStep {
  const { work } = turn.state;
  const effects: CoordinatorEffect[] = waitingCalls(work).map((call) => unavailableEffect(call));
  effects.push(
    { kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } },
    { kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } },
    { kind: 'stop' },
  );
  return { state: turn.state, effects };
}

/** Goes on from another record of this session: every call that waits is looked at anew. */
function adopt(turn: Turn, record: SigningSession): SigningStep {
  const { work } = turn.state;
  const next = {
    ...noWork(record),
    key: work.key,
    task: work.task,
    attempts: Math.max(work.attempts, record.ceremony.attempt),
  };
  next.inbox.push(...waitingCalls(work));
  turn.effects.push(
    { kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } },
    { kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } },
  );
  turn.state = { phase: 'open', record, work: next };
  takeCalls(turn);
  return stepOf(turn);
}

function nodeOf(address: string): number | undefined {
  const match = /^node\/(\d+)$/.exec(address);
  return match ? Number(match[1]) : undefined;
}
