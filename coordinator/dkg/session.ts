/**
 * The actor "dkg/<tenant>/<session>": one DKG session, from InitiateDkg to its key.
 *
 * What a client was told is in the record; everything else is asked of the nodes again after a restart, and they answer
 * alike.
 */
import type { Behaviour, Context } from '../../actors/contract.ts';
import { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DkgOpened, DkgRefused, DkgSealed, DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { ReceivedWireMessage } from '../../proto/wire.ts';
import type { SessionConfig } from '../config.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  isLocal,
  receivedBody,
  sessionKey,
} from '../messages.ts';
import { answer, proofOf } from '../session/receipts.ts';
import { replyEffect, unavailableEffect } from '../session/replies.ts';
import { isOpen } from '../session/transitions.ts';
import { failAttempt, falseResults, isEquivocation, judgeVerdict } from './blame.ts';
import { expireDkg, takeDkgCalls } from './calls.ts';
import { continueOpeningDkg, initiateDkg } from './initiation.ts';
import { askForResults, giveUpDkg, pumpDkg, sameOpening, takeOffer, takeVerified } from './round.ts';
import {
  type DkgSession,
  type DkgState,
  type DkgStep,
  type DkgTurn,
  dkgStepOf,
  isPlayed,
  noDkgWork,
  nodeIds,
  type OpenDkg,
  pair,
  replyDkg,
  waitingDkgCalls,
} from './state.ts';

/** A session that nobody calls for this long leaves memory. */
const idleMs = 60_000;

export function dkgBehaviour(
  config: SessionConfig,
): Behaviour<DkgState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: 'dkg',
    mailboxMax: 1024,
    durableKey: (self) => {
      const [, tenant, sessionId] = self.split('/');
      return sessionKey(tenant!, sessionId!);
    },
    start: (record) => {
      if (record?.kind !== 'session' || record.session.ceremony.kind !== 'dkg') {
        return { state: { phase: 'unborn' }, effects: [] };
      }
      const session = record.session as DkgSession;
      return {
        state: { phase: 'open', record: session, work: noDkgWork(session) },
        effects: [{ kind: 'startTimer', name: 'idle', afterMs: idleMs }],
      };
    },
    receive: (state, input, context) => receive(state, input, context, config),
  };
}

function receive(state: DkgState, input: CoordinatorInput, context: Context, config: SessionConfig): DkgStep {
  switch (state.phase) {
    case 'unborn': {
      if (input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'clientCall') {
        return { state, effects: [{ kind: 'stop' }] };
      }
      const { call } = input.message;
      if (call.method === Method.INITIATE_DKG) return initiateDkg(call, context, config);
      // The same for a session that does not exist, of another kind, or of another tenant.
      const proof = proofOf(call, answer('SESSION_NOT_FOUND'), undefined, config.resumeKey, context);
      return { state, effects: [replyEffect(call, proof), { kind: 'stop' }] };
    }
    case 'opening':
      return continueOpeningDkg(state, input, context, config);
    case 'open':
      return open(state, input, context, config);
  }
}

function open(state: OpenDkg, input: CoordinatorInput, context: Context, config: SessionConfig): DkgStep {
  const turn: DkgTurn = { state, effects: [], persisted: false, context, config };
  const { work } = state;
  switch (input.kind) {
    case 'message':
      if (isLocal(input.message)) localMessage(turn, input.message);
      else nodeMessage(turn, input.from, input.message as ReceivedWireMessage);
      break;
    case 'timer':
      timer(turn, input.name);
      break;
    case 'undelivered':
      // Gone for now; the request is repeated by timer, or when the cluster says that the node is back.
      break;
    case 'persistRefused': {
      const { refusal } = input;
      const current = refusal.kind === 'conflict' && refusal.code === 'EPOCH' ? refusal.current : undefined;
      if (current?.kind !== 'session') return failCalls(turn);
      const record = current.session as DkgSession;
      const next = noDkgWork(record);
      next.inbox.push(...waitingDkgCalls(work));
      turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
      turn.state = { phase: 'open', record, work: next };
      takeDkgCalls(turn);
      break;
    }
    case 'loaded':
    case 'loadFailed':
      break;
  }
  return dkgStepOf(turn);
}

type Local = Extract<CoordinatorMessage, { kind: string }>;

function localMessage(turn: DkgTurn, message: Local): void {
  const { work } = turn.state;
  switch (message.kind) {
    case 'clientCall':
      work.inbox.push(message.call);
      turn.effects.push({ kind: 'startTimer', name: 'idle', afterMs: idleMs });
      takeDkgCalls(turn);
      return;
    case 'continue':
      takeDkgCalls(turn);
      return;
    case 'nodesChanged':
      if (!work.watching) return;
      work.ready = new Set(message.ready);
      for (const flight of [...work.flights]) {
        if (!work.ready.has(Number(flight.split('/')[0]))) work.flights.delete(flight);
      }
      pumpDkg(turn);
      return;
    default:
      return;
  }
}

function timer(turn: DkgTurn, name: string): void {
  const { work } = turn.state;
  switch (name) {
    case 'repeat':
      if (work.jobs.length === 0) return;
      work.flights.clear();
      turn.effects.push({ kind: 'startTimer', name: 'repeat', afterMs: turn.config.partialTimeoutMs });
      pumpDkg(turn);
      return;
    case 'nodes':
      if (!expireDkg(turn)) giveUpDkg(turn);
      return;
    case 'idle':
      if (work.jobs.length > 0 || work.inbox.length > 0) {
        turn.effects.push({ kind: 'startTimer', name: 'idle', afterMs: idleMs });
      } else {
        turn.effects.push({ kind: 'stop' });
      }
      return;
  }
}

/** A node's word about this attempt; anything else is ignored. */
function nodeMessage(turn: DkgTurn, from: string, message: ReceivedWireMessage): void {
  const { record, work } = turn.state;
  const nodeId = Number(/^node\/(\d+)\//.exec(from)?.[1]);
  if (!(nodeId >= 1 && nodeId <= record.ceremony.totalNodes)) return;
  if (message.attempt !== record.ceremony.attempt || !isOpen(record.state) || expireDkg(turn)) return;
  const body = receivedBody(message);
  switch (body.case) {
    case 'dkgOpened':
      work.flights.delete(`${nodeId}/dkgOpen`);
      opened(turn, nodeId, body.value);
      break;
    case 'dkgSealed':
      work.flights.delete(`${nodeId}/dkgSeal`);
      sealed(turn, nodeId, body.value);
      break;
    case 'dkgVerified':
      work.flights.delete(`${nodeId}/dkgVerify`);
      verified(turn, nodeId, body.value);
      break;
    case 'dkgConfirmed':
      work.flights.delete(`${nodeId}/dkgConfirm`);
      work.confirmed.add(nodeId);
      break;
    case 'dkgRefused':
      refused(turn, nodeId, body.value);
      break;
    default:
      return;
  }
  takeDkgCalls(turn);
}

function opened(turn: DkgTurn, nodeId: number, { opening }: DkgOpened): void {
  const { openings } = turn.state.work;
  if (!opening || opening.dealer !== nodeId || opening.played) {
    failAttempt(turn, [nodeId], 'its opening names another dealer');
    return;
  }
  const known = openings.get(nodeId);
  if (!known || sameOpening(known, opening)) {
    openings.set(nodeId, opening);
  } else if (isEquivocation(turn, nodeId, opening)) {
    failAttempt(turn, [nodeId], 'two different openings, both signed');
  }
}

function sealed(turn: DkgTurn, nodeId: number, { shares }: DkgSealed): void {
  for (const share of shares) {
    if (share.dealer === nodeId) turn.state.work.boxes.set(pair(nodeId, share.recipient), share);
  }
}

function verified(turn: DkgTurn, recipient: number, said: DkgVerified): void {
  const { work, record } = turn.state;
  takeVerified(turn, recipient, said);
  const job = work.jobs.find((one) => one.offer?.recipient === recipient);
  for (const verdict of said.verdicts) {
    if (job?.offer?.dealer === verdict.dealer) {
      if (verdict.verified) {
        takeOffer(turn, job);
      } else {
        // A caller's bytes blame the call: the session is as it was, and the right share can still follow.
        work.jobs.splice(work.jobs.indexOf(job), 1);
        const code = verdict.code === 'COMMITMENT_MISMATCH' ? 'COMMITMENT_MISMATCH' : 'SHARE_VERIFICATION_FAILED';
        replyDkg(turn, job.call, answer(code, `encrypted_share: ${verdict.message}`));
      }
    } else if (!verdict.verified && !isPlayed(record, verdict.dealer)) {
      const culprit = judgeVerdict(turn, recipient, verdict);
      failAttempt(turn, culprit === undefined ? [] : [culprit], `node ${recipient} on ${verdict.message}`);
    }
    if (turn.persisted) return;
  }
}

function refused(turn: DkgTurn, nodeId: number, said: DkgRefused): void {
  const { work, record } = turn.state;
  for (const kind of ['dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm']) work.flights.delete(`${nodeId}/${kind}`);
  switch (said.code) {
    case 'ALREADY_FINAL':
      // A coordinator before this one got as far as the echo: every node has its result.
      askForResults(turn, nodeIds(record));
      return;
    case 'NOT_OPEN':
      work.openings.delete(nodeId);
      return;
    case 'NOT_FINISHED':
      work.finished.delete(nodeId);
      return;
    case 'FINISH_FAILED': {
      const job = work.jobs.find((one) => one.offer?.recipient === nodeId);
      if (!job) break;
      work.jobs.splice(work.jobs.indexOf(job), 1);
      replyDkg(turn, job.call, answer('SHARE_VERIFICATION_FAILED', `encrypted_share: ${said.message}`));
      return;
    }
    case 'TRANSCRIPT_MISMATCH':
      failAttempt(turn, falseResults(turn), `the nodes do not report the same result (${said.message})`);
      return;
  }
  failAttempt(turn, [], `node ${nodeId} refused: ${said.code} (${said.message})`);
}

/** The store did not answer: nothing was promised; what is durable is read again at the next call. */
function failCalls(turn: DkgTurn): DkgStep {
  const effects: CoordinatorEffect[] = waitingDkgCalls(turn.state.work).map((call) => unavailableEffect(call));
  effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } }, { kind: 'stop' });
  return { state: turn.state, effects };
}
