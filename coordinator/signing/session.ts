/**
 * The actor "signing/<tenant>/<session>": one signing session, from InitiateSigning to its end.
 *
 * Its first message starts it, from its durable record if there is one. Between calls it may leave memory: the record
 * holds everything that a client was told, but no nonces and partials of the present attempt; a new attempt follows.
 */
import type { Address, Behaviour, Context } from '../../core/actors/contract.ts';
import { answer } from '../contract/answers.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  isLocal,
  keyRecordKey,
  type LocalMessage,
  receivedBody,
} from '../contract/messages.ts';
import { isOpen } from '../contract/transitions.ts';
import { signingTask } from '../keystores/public.ts';
import { noPreviewReply, nothingToInspect } from '../session/inspection.ts';
import { durableKeyOf, failCalls, leaveCluster, mayWait, notFound, startIdle, tampered } from '../session/turn.ts';
import { advanceRound, drawn, nodesChanged, replaceSilent, requestUndelivered } from './advance.ts';
import { takeCalls } from './calls.ts';
import { abandonRound, expire, revoke } from './finalize.ts';
import { continueOpening, initiate } from './initiation.ts';
import { inspect, serveInspections } from './inspection.ts';
import { schemeOfSession } from './key-scheme.ts';
import { partialReply } from './partials.ts';
import { failSandboxCalls, servePreviews, takeInPreview } from './previews.ts';
import { emptyQueue, waitingCalls } from './queue.ts';
import { numberedFrom } from './round.ts';
import { withPreview } from './sandbox-work.ts';
import {
  beginSigningTurn,
  type Draft,
  isBusy,
  isLoading,
  newWork,
  type OpenState,
  type SessionKey,
  type SigningSession,
  type SigningSessionStep,
  type SigningState,
  type SigningStep,
  stepOf,
  type VendorSettlement,
} from './state.ts';
import { readPath } from './validation.ts';
import { vendorNoted, vendorOrderOpen, vendorSettled } from './vendor-orders.ts';

type NotCreated = Extract<SigningState, { phase: 'notCreated' }>;

export function signingBehaviour(
  config: SessionConfig,
): Behaviour<SigningState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: 'signing',
    mailboxMax: 256,
    durableKey: durableKeyOf,
    start: (record) => {
      if (record?.kind !== 'session' || record.session.ceremony.kind !== 'signing') {
        return { state: { phase: 'notCreated', tampered: record?.kind === 'tampered' }, effects: [] };
      }
      const session = record.session as SigningSession;
      return {
        state: { phase: 'open', record: session, work: newWork(session) },
        effects: [startIdle(config)],
      };
    },
    receive: (state, input, context) => receive(state, input, context, config),
  };
}

function receive(state: SigningState, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  const told = input.kind === 'message' && isLocal(input.message) && notFoundReply(input.message);
  // No answer about it has left yet.
  if (told && state.phase !== 'open') {
    const stops: CoordinatorEffect[] = state.phase === 'notCreated' ? [{ kind: 'stop' }] : [];
    return { state, effects: [told, ...stops] };
  }
  switch (state.phase) {
    case 'notCreated':
      return notCreated(state, input, context, config);
    case 'opening':
      return continueOpening(state, input, context, config);
    case 'open':
      return open(state, input, context, config);
  }
}

/** The answer to an inspection or a preview of a session that does not exist. */
function notFoundReply(said: LocalMessage): CoordinatorEffect | undefined {
  if (said.kind === 'inspectCall') return nothingToInspect(said.call);
  return said.kind === 'previewCall' ? noPreviewReply(said.call, answer('SESSION_NOT_FOUND')) : undefined;
}

function notCreated(state: NotCreated, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  if (input.kind === 'message' && !isLocal(input.message) && receivedBody(input.message).case === 'vendorSettled') {
    const { tenant, session } = input.message;
    return { state, effects: [vendorNoted(input.from, tenant, session), { kind: 'stop' }] };
  }
  if (input.kind !== 'message' || !isLocal(input.message)) return { state, effects: [{ kind: 'stop' }] };
  // Its record has left the store, so it can no longer sign.
  if (input.message.kind === 'revoke') return { state, effects: [ended(input.from, context.self), { kind: 'stop' }] };
  if (input.message.kind !== 'clientCall') return { state, effects: [{ kind: 'stop' }] };
  const { call } = input.message;
  if (call.method === 'initiateSigning' || call.method === 'sign') return initiate(call, context, config);
  const nothing = state.tampered ? tampered(call, context, config) : notFound(call, context, config);
  return { state, effects: [nothing, { kind: 'stop' }] };
}

function open(state: OpenState, input: CoordinatorInput, context: Context, config: SessionConfig): SigningStep {
  const turn = beginSigningTurn(state, context, config);
  switch (input.kind) {
    case 'message':
      message(turn, input);
      break;
    case 'loaded':
      turn.state.work.key = keyFrom(input.record);
      prepare(turn);
      if (turn.state.work.settled) settled(turn, turn.state.work.settled);
      servePreviews(turn);
      takeCalls(turn);
      break;
    case 'loadFailed':
      return failAll(turn);
    case 'timer':
      timer(turn, input.name);
      break;
    case 'undelivered': {
      const nodeId = nodeOf(input.to);
      if (nodeId !== undefined) requestUndelivered(turn, nodeId);
      break;
    }
    case 'persistRefused':
      return refused(turn, input);
  }
  serveSandboxCalls(turn);
  return stepOf(turn);
}

function keyFrom(record: CoordinatorRecord | undefined): SessionKey {
  if (record?.kind === 'key') return { kind: 'known', record: record.key };
  return { kind: record?.kind === 'tampered' ? 'tampered' : 'missing', loading: false };
}

/** The state is the one before the refused step, so every call waits in it; the call of the refused step joins them. */
function refused(
  turn: SigningSessionStep,
  { refusal, input }: Extract<CoordinatorInput, { kind: 'persistRefused' }>,
): SigningStep {
  const { work, record } = turn.state;
  if (input.kind === 'message' && isLocal(input.message)) waitAgain(work, input.message);
  if (refusal.kind !== 'conflict') return failAll(turn);
  const { code, current } = refusal;
  if (code === 'EPOCH' && current?.kind === 'session') {
    // Another actor changed the session (a newer session of the intent revoked it): answer from the stored record.
    return adopt(turn, current.session as SigningSession, false);
  }
  if (current?.kind === 'tampered') {
    const told = waitingCalls(work.queue).map((call) => tampered(call, turn.context, turn.config));
    return { state: turn.state, effects: [...failSandboxCalls(work), ...told, ...failCalls([])] };
  }
  if (code === 'KEY_CLOSED') return adopt(turn, record, true);
  if (code === 'KEY_BOUND') {
    // Another session has bound the key meanwhile: handle the call again, with the stored key.
    work.key = keyFrom(current);
    return adopt(turn, record, false);
  }
  return failAll(turn);
}

/** The call of a refused step. */
function waitAgain(work: Draft, said: LocalMessage): void {
  const { queue, sandbox } = work;
  if (said.kind === 'clientCall') work.queue = { ...queue, inbox: [...queue.inbox, said.call] };
  else if (said.kind === 'previewCall') work.sandbox = withPreview(sandbox, said.call);
  else if (said.kind === 'inspectCall') work.sandbox = { ...sandbox, inspections: [...sandbox.inspections, said.call] };
}

function serveSandboxCalls(turn: SigningSessionStep): void {
  servePreviews(turn);
  serveInspections(turn);
}

/** The store did not answer. */
function failAll({ state }: SigningSessionStep): SigningStep {
  return { state, effects: [...failSandboxCalls(state.work), ...failCalls(waitingCalls(state.work.queue))] };
}

function message(turn: SigningSessionStep, input: Extract<CoordinatorInput, { kind: 'message' }>): void {
  const { work } = turn.state;
  const { message: said, from } = input;
  if (!isLocal(said)) {
    const body = receivedBody(said);
    const nodeId = nodeOf(from);
    if (body.case === 'vendorSettled' && nodeId === body.value.nodeId) {
      settled(turn, { from, said: body.value });
      return;
    }
    if (body.case !== 'partialReply' || nodeId === undefined || expire(turn)) return;
    const order = partialReply(turn, nodeId, body.value);
    if (order) vendorOrderOpen(turn, nodeId, order);
    else advanceRound(turn);
    return;
  }
  switch (said.kind) {
    case 'clientCall':
      if (!mayWait(turn, said.call, waitingCalls(work.queue).length)) return;
      work.queue = { ...work.queue, inbox: [...work.queue.inbox, said.call] };
      // A missing key may exist by now.
      if (work.key.kind !== 'known') loadKey(turn);
      else takeCalls(turn);
      return;
    case 'inspectCall':
      inspect(turn, said.call);
      if (work.key.kind === 'unread') loadKey(turn);
      return;
    case 'previewCall':
      takeInPreview(turn, said.call);
      // Answers what it can before it asks a node.
      servePreviews(turn);
      if (!isBusy(work)) return;
      if (work.key.kind === 'unread') loadKey(turn);
      else advanceRound(turn);
      return;
    case 'continue':
      if (!isLoading(work)) takeCalls(turn);
      return;
    case 'drawn':
      drawn(turn, said.ticket, said.nonces);
      advanceRound(turn);
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

/** The vendor has decided. The decision waits for the key; if it is lost, its node repeats it. */
function settled(turn: SigningSessionStep, settlement: VendorSettlement): void {
  const { work, record } = turn.state;
  work.settled = undefined;
  if (work.key.kind === 'known' || !isOpen(record.state)) {
    vendorSettled(turn, settlement.from, settlement.said);
  } else if (work.key.kind === 'unread') {
    work.settled = settlement;
    loadKey(turn);
  }
}

function timer(turn: SigningSessionStep, name: string): void {
  const { work } = turn.state;
  switch (name) {
    case 'silence':
      replaceSilent(turn);
      return;
    case 'quorum':
      abandonRound(turn);
      return;
    case 'idle':
      if (isBusy(work) || work.queue.inbox.length > 0) {
        turn.effects.push(startIdle(turn.config));
      } else {
        turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } }, { kind: 'stop' });
      }
      return;
  }
}

function loadKey(turn: SigningSessionStep): void {
  const { work, record } = turn.state;
  if (isLoading(work)) return;
  work.key = { kind: work.key.kind === 'known' ? 'unread' : work.key.kind, loading: true };
  turn.effects.push({ kind: 'load', key: keyRecordKey(record.tenant, record.ceremony.facts.keyId) });
}

/** Builds the task of a validated session from its record and its key. */
function prepare(turn: SigningSessionStep): void {
  const { work, record } = turn.state;
  const { facts, curve } = record.ceremony;
  if (work.key.kind !== 'known' || curve === '' || work.task) return;
  const path = readPath(facts.derivationPath);
  if ('fault' in path) return;
  work.task = signingTask(
    work.key.record,
    schemeOfSession(work.key.record, record.keystoreType),
    path.normal,
    Buffer.from(facts.messageHash, 'hex'),
  );
}

/**
 * Continues from another record of this session, or ends it when its key is closed: it handles every waiting call again.
 */
function adopt(turn: SigningSessionStep, record: SigningSession, keyClosed: boolean): SigningStep {
  const { key, task, round, queue, sandbox } = turn.state.work;
  const fresh = newWork(record);
  turn.effects.push(...leaveCluster());
  turn.state = {
    phase: 'open',
    record,
    work: {
      key: key.kind === 'known' ? key : { ...key, loading: false },
      task,
      round: numberedFrom(fresh.round, round.history.attempts),
      nodes: fresh.nodes,
      queue: { ...emptyQueue, inbox: waitingCalls(queue) },
      sandbox,
      settled: undefined,
    },
  };
  if (keyClosed) revoke(turn, false);
  else if (key.kind === 'known') takeCalls(turn);
  else loadKey(turn);
  serveSandboxCalls(turn);
  return stepOf(turn);
}

function ended(to: Address, self: Address): CoordinatorEffect {
  return { kind: 'send', to, message: { kind: 'ended', sessionId: self.split('/')[2]! } };
}

/** The node id of a node's signer, or of one of its orders at a vendor. */
function nodeOf(address: string): number | undefined {
  const match = /^node\/(\d+)(\/vendor\/.*)?$/.exec(address);
  return match ? Number(match[1]) : undefined;
}
