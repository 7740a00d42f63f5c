/**
 * The actor "signing/<tenant>/<session>": one signing session, from InitiateSigning to its end.
 *
 * Its first message starts it, from its durable record if there is one. Between calls it may leave memory: the record
 * holds everything that a client was told, but no nonces and partials of the present attempt; a new attempt follows.
 */
import type { Address, Behaviour, Context } from '../../core/actors/contract.ts';
import type { PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody } from '../../proto/wire.ts';
import { answer } from '../contract/call-answer.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type ClientCall,
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
import { type KeyRecord, versionOf } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { signingTask } from '../keystores/public.ts';
import { noPreviewReply, nothingToInspect } from '../session/inspection-replies.ts';
import {
  durableKeyOf,
  failCalls,
  leaveCluster,
  mayWait,
  notFound,
  type Persisted,
  startIdle,
  tampered,
} from '../session/turn.ts';
import { advanceRound, askKeylessAgain, drawn, nodesChanged, replaceSilent, requestUndelivered } from './advance.ts';
import { takeCalls } from './calls.ts';
import { abandonRound, expire, revoke } from './finalize.ts';
import { continueOpening, initiate } from './initiation.ts';
import { inspect, serveInspections } from './inspections.ts';
import { schemeOfSession } from './key-scheme.ts';
import { heardOf } from './nodes-seen.ts';
import { answersAttempt, takeAnswer } from './partials.ts';
import { failSandboxCalls, servePreviews, takeInPreview } from './previews.ts';
import { emptyQueue, waitingCalls } from './queue.ts';
import { nodesReleased, numberedFrom } from './round.ts';
import { withPreview } from './sandbox-work.ts';
import {
  beginSigningTurn,
  type Draft,
  isAtVendor,
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
  if (input.kind === 'loadFailed') return failAll(turn);
  if (input.kind === 'persistRefused') return refused(turn, input);
  return servedStep(turn, handle(turn, input));
}

/** The step of a turn. Sandbox calls get their answers in one without a write. */
function servedStep(turn: SigningSessionStep, written: Persisted | undefined): SigningStep {
  if (!written) {
    servePreviews(turn);
    serveInspections(turn);
  }
  return stepOf(turn);
}

type Handled = Exclude<CoordinatorInput, { kind: 'loadFailed' | 'persistRefused' }>;

function handle(turn: SigningSessionStep, input: Handled): Persisted | undefined {
  switch (input.kind) {
    case 'message':
      return isLocal(input.message)
        ? localMessage(turn, input.from, input.message)
        : nodeMessage(turn, input.from, receivedBody(input.message));
    case 'loaded':
      return keyLoaded(turn, input.record);
    case 'timer':
      return timer(turn, input.name);
    case 'undelivered': {
      const nodeId = nodeOf(input.to);
      return nodeId === undefined ? undefined : requestUndelivered(turn, nodeId);
    }
  }
}

function keyLoaded(turn: SigningSessionStep, record: CoordinatorRecord | undefined): Persisted | undefined {
  const { work } = turn.state;
  if (work.key.kind === 'known') return sharesReplaced(turn, work.key.record, record);
  work.key = keyFrom(record);
  prepare(turn);
  const written = work.settled && settled(turn, work.settled);
  if (written) return written;
  servePreviews(turn);
  return takeCalls(turn);
}

/** The key was read again. If its nodes have new shares, everything asked of the ones before is void, and the calls begin anew. */
function sharesReplaced(
  turn: SigningSessionStep,
  before: KeyRecord,
  found: CoordinatorRecord | undefined,
): Persisted | undefined {
  if (found?.kind !== 'key' || versionOf(found.key) <= versionOf(before)) return undefined;
  turn.state.work.key = { kind: 'known', record: found.key };
  turn.state.work.task = undefined;
  beginAgain(turn, turn.state.record);
  prepare(turn);
  return takeCalls(turn);
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
  const { code, current } = refusal.kind === 'conflict' ? refusal : {};
  if (code === 'EPOCH' && current?.kind === 'session') {
    // Another actor changed the session (a newer session of the intent revoked it): answer from the stored record.
    return handleAgain(turn, current.session as SigningSession);
  }
  if (current?.kind === 'tampered') return failAll(turn, (call) => tampered(call, turn.context, turn.config));
  if (code === 'KEY_CLOSED') {
    beginAgain(turn, record);
    return servedStep(turn, revoke(turn, false));
  }
  if (code !== 'KEY_BOUND') return failAll(turn);
  // Another session has bound the key meanwhile: handle the call again, with the stored key.
  work.key = keyFrom(current);
  return handleAgain(turn, record);
}

/** The call of a refused step. */
function waitAgain(work: Draft, said: LocalMessage): void {
  const { queue, sandbox } = work;
  if (said.kind === 'clientCall') work.queue = { ...queue, inbox: [...queue.inbox, said.call] };
  else if (said.kind === 'previewCall') work.sandbox = withPreview(sandbox, said.call);
  else if (said.kind === 'inspectCall') work.sandbox = { ...sandbox, inspections: [...sandbox.inspections, said.call] };
}

/** No call has its effect confirmed. */
function failAll({ state }: SigningSessionStep, answered?: (call: ClientCall) => CoordinatorEffect): SigningStep {
  return { state, effects: [...failSandboxCalls(state.work), ...failCalls(waitingCalls(state.work.queue), answered)] };
}

function nodeMessage(turn: SigningSessionStep, from: Address, body: WireBody): Persisted | undefined {
  const nodeId = nodeOf(from);
  if (body.case === 'vendorSettled' && nodeId === body.value.nodeId) return settled(turn, { from, said: body.value });
  if (body.case !== 'partialReply' || nodeId === undefined) return undefined;
  return expire(turn) ?? nodeAnswered(turn, nodeId, body.value);
}

/** A node's partial, refusal, or order at the vendor. Answers of another attempt, or from a node outside it, are ignored. */
function nodeAnswered(turn: SigningSessionStep, nodeId: number, said: PartialReply): Persisted | undefined {
  const { work } = turn.state;
  if (!answersAttempt(turn, nodeId, said)) return advanceRound(turn);
  work.round = nodesReleased(work.round, (id) => id === nodeId);
  work.nodes = heardOf(work.nodes, nodeId);
  const { outcome } = said;
  if (outcome.case === 'vendorOrder' && isAtVendor(work)) return vendorOrderOpen(turn, nodeId, outcome.value);
  return takeAnswer(turn, nodeId, said) ?? advanceRound(turn);
}

function localMessage(turn: SigningSessionStep, from: Address, said: LocalMessage): Persisted | undefined {
  const { work } = turn.state;
  switch (said.kind) {
    case 'clientCall':
      if (!mayWait(turn, said.call, waitingCalls(work.queue).length)) return undefined;
      work.queue = { ...work.queue, inbox: [...work.queue.inbox, said.call] };
      // A missing key may exist by now.
      return work.key.kind === 'known' ? takeCalls(turn) : loadKey(turn);
    case 'inspectCall':
      inspect(turn, said.call);
      return work.key.kind === 'unread' ? loadKey(turn) : undefined;
    case 'previewCall':
      takeInPreview(turn, said.call);
      // Answers what it can before it asks a node.
      servePreviews(turn);
      if (!isBusy(work)) return undefined;
      return work.key.kind === 'unread' ? loadKey(turn) : advanceRound(turn);
    case 'continue':
      return isLoading(work) ? undefined : takeCalls(turn);
    case 'drawn':
      return drawn(turn, said.ticket, said.nonces);
    case 'nodesChanged':
      return nodesChanged(turn, said.ready, said.suspects);
    case 'expire':
      return expire(turn);
    case 'revoke': {
      const written = revoke(turn, said.clientsOnly);
      turn.effects.push(ended(from, turn.context.self));
      return written;
    }
    default:
      return undefined;
  }
}

/** The vendor has decided. The decision waits for the key; if it is lost, its node repeats it. */
function settled(turn: SigningSessionStep, settlement: VendorSettlement): Persisted | undefined {
  const { work, record } = turn.state;
  work.settled = undefined;
  if (work.key.kind === 'known' || !isOpen(record.state)) {
    return vendorSettled(turn, settlement.from, settlement.said);
  }
  if (work.key.kind !== 'unread') return undefined;
  work.settled = settlement;
  return loadKey(turn);
}

function timer(turn: SigningSessionStep, name: string): Persisted | undefined {
  const { work } = turn.state;
  switch (name) {
    case 'silence':
      return replaceSilent(turn);
    case 'keyless':
      return askKeylessAgain(turn);
    case 'quorum':
      return abandonRound(turn);
    case 'idle':
      if (isBusy(work) || work.queue.inbox.length > 0) {
        turn.effects.push(startIdle(turn.config));
      } else {
        turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'withdraw' } }, { kind: 'stop' });
      }
      return undefined;
    default:
      return undefined;
  }
}

/** The step waits for the key. */
function loadKey(turn: SigningSessionStep): undefined {
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

/** Handles every waiting call again, on another record of this session. */
function handleAgain(turn: SigningSessionStep, record: SigningSession): SigningStep {
  beginAgain(turn, record);
  return servedStep(turn, turn.state.work.key.kind === 'known' ? takeCalls(turn) : loadKey(turn));
}

function beginAgain(turn: SigningSessionStep, record: SigningSession): void {
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
}

function ended(to: Address, self: Address): CoordinatorEffect {
  return { kind: 'send', to, message: { kind: 'ended', sessionId: self.split('/')[2]! } };
}

/** The node id of a node's signer, or of one of its orders at a vendor. */
function nodeOf(address: string): number | undefined {
  const match = /^node\/(\d+)(\/vendor\/.*)?$/.exec(address);
  return match ? Number(match[1]) : undefined;
}
