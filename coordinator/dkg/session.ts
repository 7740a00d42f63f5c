/**
 * The actor "dkg/<tenant>/<session>": one DKG session, from InitiateDkg to its key.
 *
 * The record holds everything that clients were told; after a restart the actor asks the nodes again for the rest, and they
 * repeat their answers.
 */
import type { Behaviour, Context } from '../../core/actors/contract.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  type InspectCall,
  isLocal,
  keyRecordKey,
  type LocalMessage,
} from '../contract/messages.ts';
import { type KeyRecord, versionOf } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { inspectionReply, nothingToInspect } from '../session/inspection-replies.ts';
import { unavailableEffect } from '../session/replies.ts';
import { verifiedPairsOf } from '../session/retained.ts';
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
import { takeDkgCalls } from './calls.ts';
import { abandonDkg, expireDkg } from './finalize.ts';
import { continueOpeningDkg, initiateDkg } from './initiation.ts';
import { takeNodeMessage } from './node-answers.ts';
import { continueLoading, loadRefreshedKey } from './refreshing.ts';
import { isMissing, noteSilence, replaceMissing, replaceSuspects } from './replacing.ts';
import { confirmAgain } from './requests.ts';
import { advanceDkg, completeWithout } from './round.ts';
import {
  beginDkgTurn,
  type DkgCeremonyState,
  type DkgSession,
  type DkgSessionStep,
  type DkgStep,
  dkgStepOf,
  noDkgWork,
  nodeIds,
  type OpenDkg,
  sortedPairs,
  waitingDkgCalls,
} from './state.ts';

export function dkgBehaviour(
  config: SessionConfig,
): Behaviour<DkgCeremonyState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: 'dkg',
    mailboxMax: 1024,
    durableKey: durableKeyOf,
    start: (record) => {
      if (record?.kind !== 'session' || record.session.ceremony.kind !== 'dkg') {
        return { state: { phase: 'notCreated', tampered: record?.kind === 'tampered' }, effects: [] };
      }
      const session = record.session as DkgSession;
      return {
        state: { phase: 'open', record: session, work: noDkgWork(session, false) },
        effects: [startIdle(config)],
      };
    },
    receive: (state, input, context) => receive(state, input, context, config),
  };
}

function receive(state: DkgCeremonyState, input: CoordinatorInput, context: Context, config: SessionConfig): DkgStep {
  switch (state.phase) {
    case 'notCreated': {
      if (input.kind === 'message' && isLocal(input.message) && input.message.kind === 'inspectCall') {
        return { state, effects: [nothingToInspect(input.message.call), { kind: 'stop' }] };
      }
      if (input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'clientCall') {
        return { state, effects: [{ kind: 'stop' }] };
      }
      const { call } = input.message;
      if (state.tampered) return { state, effects: [tampered(call, context, config), { kind: 'stop' }] };
      if (call.method === 'refreshKey') return loadRefreshedKey(call);
      if (call.method === 'initiateDkg' || call.method === 'makeKey') return initiateDkg(call, context, config);
      return { state, effects: [notFound(call, context, config), { kind: 'stop' }] };
    }
    case 'keyLoading':
      return continueLoading(state, input, context, config);
    case 'opening':
      return continueOpeningDkg(state, input, context, config);
    case 'open':
      return open(state, input, context, config);
  }
}

function open(state: OpenDkg, input: CoordinatorInput, context: Context, config: SessionConfig): DkgStep {
  const turn = beginDkgTurn(state, context, config);
  const { work } = turn.state;
  switch (input.kind) {
    case 'message':
      if (isLocal(input.message)) localMessage(turn, input.message);
      else takeNodeMessage(turn, input.from, input.message);
      break;
    case 'timer':
      timer(turn, input.name);
      break;
    case 'undelivered':
      // The node is unreachable; the request is repeated by timer, or when the node reconnects.
      break;
    case 'persistRefused': {
      const { refusal, input: handled } = input;
      // The state is the one before the refused step, so every call waits in it; the call of the refused step joins them.
      if (handled.kind === 'message' && isLocal(handled.message) && handled.message.kind === 'clientCall') {
        work.inbox.push(handled.message.call);
      }
      const current = refusal.kind === 'conflict' ? refusal.current : undefined;
      if (current?.kind === 'tampered') {
        return { state, effects: failCalls(waitingDkgCalls(work), (call) => tampered(call, context, config)) };
      }
      const isNewer = refusal.kind === 'conflict' && refusal.code === 'EPOCH';
      if (!isNewer || current?.kind !== 'session') return { state, effects: failCalls(waitingDkgCalls(work)) };
      const record = current.session as DkgSession;
      const next = noDkgWork(record, false);
      next.inbox.push(...waitingDkgCalls(work));
      turn.effects.push(...leaveCluster());
      turn.state = { phase: 'open', record, work: next };
      takeDkgCalls(turn);
      break;
    }
    case 'loaded':
      serveInspections(turn, input.record?.kind === 'key' ? input.record.key : undefined);
      break;
    case 'loadFailed':
      for (const call of work.inspections) turn.effects.push(unavailableEffect(call));
      work.inspections = [];
      break;
  }
  return dkgStepOf(turn);
}

function localMessage(turn: DkgSessionStep, message: LocalMessage): Persisted | undefined {
  const { work } = turn.state;
  switch (message.kind) {
    case 'clientCall':
      if (!mayWait(turn, message.call, waitingDkgCalls(work).length)) return undefined;
      work.inbox.push(message.call);
      return takeDkgCalls(turn);
    case 'inspectCall':
      inspectDkg(turn, message.call);
      return undefined;
    case 'continue':
      return takeDkgCalls(turn);
    case 'expire':
      return expireDkg(turn);
    case 'keyUnknown':
      confirmAgain(turn, message.nodeId);
      return undefined;
    case 'nodesChanged':
      if (!work.watching) {
        turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
        return undefined;
      }
      work.ready = new Set(message.ready);
      work.suspects = message.suspects;
      for (const flight of [...work.flights]) {
        if (!work.ready.has(Number(flight.split('/')[0]))) work.flights.delete(flight);
      }
      return replaceSuspects(turn) ?? advanceDkg(turn);
    default:
      return undefined;
  }
}

/** A finished key is loaded first: its own record names the scheme that it is bound to. */
function inspectDkg(turn: DkgSessionStep, call: InspectCall): void {
  const { record, work } = turn.state;
  const asks = work.inspections.length === 0;
  work.inspections = [...work.inspections, call];
  if (record.state !== ReceiptState.BACKEND_COMPLETED) serveInspections(turn, undefined);
  else if (asks) turn.effects.push({ kind: 'load', key: keyRecordKey(record.tenant, record.sessionId) });
}

/** From the record, and in an open session also from the work in memory. */
function serveInspections(turn: DkgSessionStep, key: KeyRecord | undefined): void {
  const { record, work } = turn.state;
  const { attempt, culprits = [], played, publicKey, chainCode = '', threshold, totalNodes, curve } = record.ceremony;
  const inHand = {
    cluster: turn.config.roster.number ?? firstCluster,
    attempt,
    culprits: [...culprits],
    verifiedPairs: isOpen(record.state) ? sortedPairs(work.verified) : [...verifiedPairsOf(record.ceremony)],
    clientSuppliedDealers: nodeIds(record).filter((id) => played[id] !== undefined),
    publicKey: Buffer.from(publicKey, 'hex'),
    chainCode: Buffer.from(chainCode, 'hex'),
    threshold,
    totalNodes,
    participants: [...nodeIds(record)],
    curve,
    keyScheme: key?.scheme ?? record.ceremony.scheme ?? '',
    keyExposed: key?.exposed ?? false,
    keyVersion: key ? versionOf(key) : 0,
  };
  for (const call of work.inspections) turn.effects.push(inspectionReply(call, record, inHand, turn.config.resumeKey));
  work.inspections = [];
}

function timer(turn: DkgSessionStep, name: string): Persisted | undefined {
  const { work } = turn.state;
  switch (name) {
    case 'repeat':
      return work.jobs.length === 0 ? undefined : (expireDkg(turn) ?? repeatRequests(turn));
    case 'nodes':
      return completeWithout(turn, () => true) ?? abandonDkg(turn);
    case 'idle': {
      // Client-supplied shares exist only in memory, so the session stays in memory for its lifetime.
      const holdsShares = work.supplied.size > 0 && isOpen(turn.state.record.state);
      const expired = holdsShares ? expireDkg(turn) : undefined;
      if (expired) return expired;
      if (holdsShares || work.jobs.length > 0 || work.inbox.length > 0) {
        turn.effects.push(startIdle(turn.config));
      } else {
        turn.effects.push({ kind: 'stop' });
      }
      return undefined;
    }
    default:
      return undefined;
  }
}

/** No answer came in time: other nodes take the place of missing ones, and the present ones are asked again. */
function repeatRequests(turn: DkgSessionStep): Persisted | undefined {
  noteSilence(turn);
  const completed = completeWithout(turn, (id) => isMissing(turn, id));
  if (completed) return completed;
  turn.state.work.flights.clear();
  turn.effects.push({ kind: 'startTimer', name: 'repeat', afterMs: turn.config.partialTimeoutMs });
  return replaceMissing(turn) ?? advanceDkg(turn);
}
