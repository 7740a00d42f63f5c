/**
 * The actor "signing/<tenant>/<session>": one signing session, from InitiateSigning to its end.
 *
 * It is started by its first message, from its durable record if there is one. Between calls it may leave memory: what a
 * client was told is in the record; nonces and partials of the attempt in hand are not, and a new attempt follows.
 */
import type { Address, Behaviour, Context } from '../../actors/contract.ts';
import { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { SessionConfig } from '../config.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  isLocal,
  keyKey,
  type LocalMessage,
  receivedBody,
} from '../messages.ts';
import { answer } from '../session/answers.ts';
import { noPreviewReply, nothingToInspect } from '../session/inspection.ts';
import {
  beginTurn,
  durableKeyOf,
  failCalls,
  idleMs,
  leaveCluster,
  notFound,
  takeIn,
  tampered,
} from '../session/turn.ts';
import { signingTask } from './attempt.ts';
import { takeCalls } from './calls.ts';
import { expire, giveUp, revoke } from './closing.ts';
import { continueOpening, initiate } from './initiation.ts';
import { inspect, serveInspections } from './inspection.ts';
import { schemeFor } from './key-scheme.ts';
import { partialReply } from './partials.ts';
import { failLooks, servePreviews, takeInPreview } from './previews.ts';
import { drawn, nodesChanged, pump, replaceSilent } from './round.ts';
import {
  isBusy,
  noWork,
  type OpenState,
  type SigningSession,
  type SigningState,
  type SigningStep,
  stepOf,
  type Turn,
  type Work,
  waitingCalls,
} from './state.ts';
import { readPath } from './validation.ts';

type Unborn = Extract<SigningState, { phase: 'unborn' }>;

export function signingBehaviour(
  config: SessionConfig,
): Behaviour<SigningState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: 'signing',
    mailboxMax: 256,
    durableKey: durableKeyOf,
    start: (record) => {
      if (record?.kind !== 'session' || record.session.ceremony.kind !== 'signing') {
        return { state: { phase: 'unborn', tampered: record?.kind === 'tampered' }, effects: [] };
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
  const isLook = input.kind === 'message' && isLocal(input.message) && lookOf(input.message);
  // Nobody was told of it yet.
  if (isLook && state.phase !== 'open') {
    const stops: CoordinatorEffect[] = state.phase === 'unborn' ? [{ kind: 'stop' }] : [];
    return { state, effects: [isLook, ...stops] };
  }
  switch (state.phase) {
    case 'unborn':
      return unborn(state, input, context, config);
    case 'opening':
      return continueOpening(state, input, context, config);
    case 'open':
      return open(state, input, context, config);
  }
}

/** What somebody is told who looks at a session that is not there. */
function lookOf(said: LocalMessage): CoordinatorEffect | undefined {
  if (said.kind === 'inspectCall') return nothingToInspect(said.call);
  return said.kind === 'previewCall' ? noPreviewReply(said.call, answer('SESSION_NOT_FOUND')) : undefined;
}

function unborn(state: Unborn, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  if (input.kind !== 'message' || !isLocal(input.message)) return { state, effects: [{ kind: 'stop' }] };
  // Its record has left the store: it cannot sign any more.
  if (input.message.kind === 'revoke') return { state, effects: [ended(input.from, context.self), { kind: 'stop' }] };
  if (input.message.kind !== 'clientCall') return { state, effects: [{ kind: 'stop' }] };
  const { call } = input.message;
  if (call.method === Method.INITIATE_SIGNING || call.method === Method.SIGN) return initiate(call, context, config);
  const nothing = state.tampered ? tampered(call, context, config) : notFound(call, context, config);
  return { state, effects: [nothing, { kind: 'stop' }] };
}

function open(state: OpenState, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  const turn: Turn = beginTurn(state, context, config);
  const { work } = state;
  switch (input.kind) {
    case 'message':
      message(turn, input);
      break;
    case 'loaded': {
      work.loadingKey = false;
      work.key = input.record?.kind === 'key' ? input.record.key : null;
      work.keyTampered = input.record?.kind === 'tampered';
      prepare(turn);
      takeCalls(turn);
      break;
    }
    case 'loadFailed':
      return failAll(state);
    case 'timer':
      timer(turn, input.name);
      break;
    case 'undelivered': {
      const nodeId = nodeOf(input.to);
      if (nodeId === undefined) break;
      // As good as silent; the cluster says so too as soon as it knows that the node is gone.
      work.attempt?.asked.delete(nodeId);
      work.silent.add(nodeId);
      pump(turn);
      break;
    }
    case 'persistRefused': {
      const { refusal } = input;
      if (refusal.kind === 'conflict' && refusal.code === 'EPOCH' && refusal.current?.kind === 'session') {
        // Somebody else changed the session (a newer session of the intent revoked it): answer by what stands there.
        return adopt(turn, refusal.current.session as SigningSession, false);
      }
      if (refusal.kind === 'conflict' && refusal.current?.kind === 'tampered') {
        const refused = waitingCalls(work).map((call) => tampered(call, context, config));
        return { state, effects: [...failLooks(work), ...refused, ...failCalls([])] };
      }
      if (refusal.kind === 'conflict' && refusal.code === 'KEY_CLOSED') return adopt(turn, state.record, true);
      if (refusal.kind === 'conflict' && refusal.code === 'KEY_BOUND') {
        // Another session has bound the key meanwhile: the call is looked at again, by what stands there.
        work.key = refusal.current?.kind === 'key' ? refusal.current.key : null;
        return adopt(turn, state.record, false);
      }
      return failAll(state);
    }
  }
  serveLooks(turn);
  return stepOf(turn);
}

function serveLooks(turn: Turn): void {
  servePreviews(turn);
  serveInspections(turn);
}

/** The store did not answer. */
function failAll(state: OpenState): SigningStep {
  const { work } = state;
  return { state, effects: [...failLooks(work), ...failCalls(waitingCalls(work))] };
}

function message(turn: Turn, input: Extract<CoordinatorInput, { kind: 'message' }>): void {
  const { work } = turn.state;
  const { message: said, from } = input;
  if (!isLocal(said)) {
    const body = receivedBody(said);
    const nodeId = nodeOf(from);
    if (body.case !== 'partialReply' || nodeId === undefined || expire(turn)) return;
    partialReply(turn, nodeId, body.value);
    pump(turn);
    return;
  }
  switch (said.kind) {
    case 'clientCall':
      if (!takeIn(turn, said.call, waitingCalls(work).length)) return;
      // A key that was not there may have been made since.
      if (!work.key) loadKey(turn);
      else takeCalls(turn);
      return;
    case 'inspectCall':
      inspect(turn, said.call);
      if (work.key === undefined) loadKey(turn);
      return;
    case 'previewCall':
      takeInPreview(turn, said.call);
      // What can be said at once is, before a node is asked.
      servePreviews(turn);
      if (!isBusy(work)) return;
      if (work.key === undefined) loadKey(turn);
      else pump(turn);
      return;
    case 'continue':
      if (!work.loadingKey) takeCalls(turn);
      return;
    case 'drawn':
      drawn(turn, said.ticket, said.nonces);
      pump(turn);
      return;
    case 'nodesChanged':
      nodesChanged(turn, said.ready, said.suspects);
      return;
    case 'expire':
      expire(turn);
      return;
    case 'revoke':
      revoke(turn, said.clientsOnly);
      turn.effects.push(ended(from, turn.context.self));
      return;
    default:
      return;
  }
}

function timer(turn: Turn, name: string): void {
  const { work } = turn.state;
  switch (name) {
    case 'silence':
      replaceSilent(turn);
      return;
    case 'quorum':
      giveUp(turn);
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
    schemeFor(curve, record.keystoreType),
    path.normal,
    Buffer.from(facts.messageHash, 'hex'),
  );
}

/**
 * Goes on from another record of this session, or, its key being closed, ends it: every call that waits is looked at anew.
 */
function adopt(turn: Turn, record: SigningSession, keyClosed: boolean): SigningStep {
  const { work } = turn.state;
  const { key, task } = work;
  const next: Work = { ...noWork(record), key, task, attempts: Math.max(work.attempts, record.ceremony.attempt) };
  next.inbox.push(...waitingCalls(work));
  next.previews = work.previews;
  next.previewed = work.previewed;
  next.inspections = work.inspections;
  turn.effects.push(...leaveCluster());
  turn.state = { phase: 'open', record, work: next };
  if (keyClosed) revoke(turn, false);
  else if (key) takeCalls(turn);
  else loadKey(turn);
  serveLooks(turn);
  return stepOf(turn);
}

function ended(to: Address, self: Address): CoordinatorEffect {
  return { kind: 'send', to, message: { kind: 'ended', sessionId: self.split('/')[2]! } };
}

function nodeOf(address: string): number | undefined {
  const match = /^node\/(\d+)$/.exec(address);
  return match ? Number(match[1]) : undefined;
}
