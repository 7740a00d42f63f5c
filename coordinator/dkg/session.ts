/**
 * The actor "dkg/<tenant>/<session>": one DKG session, from InitiateDkg to its key.
 *
 * What a client was told is in the record; everything else is asked of the nodes again after a restart, and they answer
 * alike.
 */
import type { Behaviour, Context } from '../../actors/contract.ts';
import { sameResult } from '../../crypto/dkg-transcripts.ts';
import { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DkgOpened, DkgRefused, DkgSealed, DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { SessionConfig } from '../config.ts';
import {
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  type InspectCall,
  isLocal,
  type LocalMessage,
  receivedBody,
} from '../messages.ts';
import { answer } from '../session/answers.ts';
import { inspectionReply, nothingToInspect } from '../session/inspection.ts';
import { isOpen } from '../session/transitions.ts';
import { beginTurn, durableKeyOf, failCalls, idleMs, leaveCluster, notFound, reply, takeIn } from '../session/turn.ts';
import { failAttempt, isOwnResult, judgeVerdict, openingFault, sameOpening } from './blame.ts';
import { takeDkgCalls } from './calls.ts';
import { expireDkg, giveUpDkg } from './closing.ts';
import { continueOpeningDkg, initiateDkg } from './initiation.ts';
import { askForResults, pumpDkg, takeOffer, takeVerified } from './round.ts';
import {
  type DkgSession,
  type DkgState,
  type DkgStep,
  type DkgTurn,
  type DkgWork,
  dkgStepOf,
  isPlayed,
  noDkgWork,
  nodeIds,
  type OpenDkg,
  pair,
  sortedPairs,
  waitingDkgCalls,
} from './state.ts';

export function dkgBehaviour(
  config: SessionConfig,
): Behaviour<DkgState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: 'dkg',
    mailboxMax: 1024,
    durableKey: durableKeyOf,
    start: (record) => {
      if (record?.kind !== 'session' || record.session.ceremony.kind !== 'dkg') {
        return { state: { phase: 'unborn' }, effects: [] };
      }
      const session = record.session as DkgSession;
      return {
        state: { phase: 'open', record: session, work: noDkgWork(session, false) },
        effects: [{ kind: 'startTimer', name: 'idle', afterMs: idleMs }],
      };
    },
    receive: (state, input, context) => receive(state, input, context, config),
  };
}

function receive(state: DkgState, input: CoordinatorInput, context: Context, config: SessionConfig): DkgStep {
  switch (state.phase) {
    case 'unborn': {
      if (input.kind === 'message' && isLocal(input.message) && input.message.kind === 'inspectCall') {
        return { state, effects: [nothingToInspect(input.message.call), { kind: 'stop' }] };
      }
      if (input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'clientCall') {
        return { state, effects: [{ kind: 'stop' }] };
      }
      const { call } = input.message;
      if (call.method === Method.INITIATE_DKG) return initiateDkg(call, context, config);
      return { state, effects: [notFound(call, context, config), { kind: 'stop' }] };
    }
    case 'opening':
      return continueOpeningDkg(state, input, context, config);
    case 'open':
      return open(state, input, context, config);
  }
}

function open(state: OpenDkg, input: CoordinatorInput, context: Context, config: SessionConfig): DkgStep {
  const turn: DkgTurn = beginTurn(state, context, config);
  const { work } = state;
  switch (input.kind) {
    case 'message':
      if (isLocal(input.message)) localMessage(turn, input.message);
      else nodeMessage(turn, input.from, input.message);
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
      if (current?.kind !== 'session') return { state, effects: failCalls(waitingDkgCalls(work)) };
      const record = current.session as DkgSession;
      const next = noDkgWork(record, false);
      next.inbox.push(...waitingDkgCalls(work));
      turn.effects.push(...leaveCluster());
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

function localMessage(turn: DkgTurn, message: LocalMessage): void {
  const { work } = turn.state;
  switch (message.kind) {
    case 'clientCall':
      if (takeIn(turn, message.call, waitingDkgCalls(work).length)) takeDkgCalls(turn);
      return;
    case 'inspectCall':
      inspectDkg(turn, message.call);
      return;
    case 'continue':
      takeDkgCalls(turn);
      return;
    case 'expire':
      expireDkg(turn);
      return;
    case 'nodesChanged':
      if (!work.watching) {
        turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
        return;
      }
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

/** From the record, and in an open session from what is in hand. */
function inspectDkg(turn: DkgTurn, call: InspectCall): void {
  const { record, work } = turn.state;
  const { attempt, culprits = [], played, publicKey, threshold, totalNodes, curve } = record.ceremony;
  const inHand = {
    attempt,
    culprits: [...culprits],
    verifiedPairs: isOpen(record.state) ? sortedPairs(work.verified) : [...record.ceremony.verified],
    playedDealers: nodeIds(record).filter((id) => played[id] !== undefined),
    publicKey: Buffer.from(publicKey, 'hex'),
    threshold,
    totalNodes,
    curve,
  };
  turn.effects.push(inspectionReply(call, record, inHand));
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
      giveUpDkg(turn);
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
function nodeMessage(turn: DkgTurn, from: string, message: WireMessage): void {
  const { record, work } = turn.state;
  const nodeId = Number(/^node\/(\d+)\//.exec(from)?.[1]);
  if (!(nodeId >= 1 && nodeId <= record.ceremony.totalNodes)) return;
  if (message.attempt !== record.ceremony.attempt || !isOpen(record.state) || expireDkg(turn)) return;
  const before = known(work);
  const body = receivedBody(message);
  switch (body.case) {
    case 'dkgOpened':
      opened(turn, nodeId, body.value);
      break;
    case 'dkgSealed':
      sealed(turn, nodeId, body.value);
      break;
    case 'dkgVerified':
      verified(turn, nodeId, body.value);
      break;
    case 'dkgConfirmed':
      work.confirmed.add(nodeId);
      break;
    case 'dkgRefused':
      refused(turn, nodeId, body.value);
      break;
    default:
      return;
  }
  // What brought nothing new does not count as the answer: the request is repeated by timer, not at once.
  if (known(work) > before && !turn.persisted) {
    work.flights.delete(`${nodeId}/${requestOf[body.case]}`);
    if (work.watching) {
      turn.effects.push({ kind: 'startTimer', name: 'nodes', afterMs: turn.config.nodesWaitMs });
    }
  }
  takeDkgCalls(turn);
}

const requestOf = {
  dkgOpened: 'dkgOpen',
  dkgSealed: 'dkgSeal',
  dkgVerified: 'dkgVerify',
  dkgConfirmed: 'dkgConfirm',
  dkgRefused: '',
} as const;

/** How much this actor has learned from nodes in this attempt. */
function known({ openings, boxes, verified, finished, confirmed }: DkgWork): number {
  return openings.size + boxes.size + verified.size + finished.size + confirmed.size;
}

function opened(turn: DkgTurn, nodeId: number, { opening }: DkgOpened): void {
  const { openings } = turn.state.work;
  if (!opening || opening.dealer !== nodeId || opening.played) {
    failAttempt(turn, [nodeId], 'its opening names another dealer');
    return;
  }
  const first = openings.get(nodeId);
  if (first && sameOpening(first, opening)) return;
  const fault = openingFault(turn, opening);
  if (fault) failAttempt(turn, [nodeId], fault);
  else if (first) failAttempt(turn, [nodeId], 'it dealt twice: two different openings, both signed');
  else openings.set(nodeId, opening);
}

function sealed(turn: DkgTurn, nodeId: number, { shares }: DkgSealed): void {
  const { record, work } = turn.state;
  const ids = nodeIds(record);
  for (const share of shares) {
    const { dealer, recipient } = share;
    // The first box counts: it is the one that was relayed and that a complaint is judged by.
    const isNew = dealer === nodeId && ids.includes(recipient) && !work.boxes.has(pair(dealer, recipient));
    if (isNew) work.boxes.set(pair(dealer, recipient), share);
  }
}

function verified(turn: DkgTurn, recipient: number, said: DkgVerified): void {
  const { work, record } = turn.state;
  if (said.finished && !isOwnResult(turn, recipient, said.finished)) {
    failAttempt(turn, [recipient], 'its result is not signed by it');
    return;
  }
  const reported = work.finished.get(recipient);
  if (said.finished && reported && !sameResult(reported, said.finished)) {
    failAttempt(turn, [recipient], 'two different results, both signed');
    return;
  }
  const job = work.jobs.find((one) => one.offer?.recipient === recipient);
  takeVerified(turn, recipient, said, job?.offer?.dealer);
  for (const verdict of said.verdicts) {
    if (job?.offer?.dealer === verdict.dealer) {
      work.flights.delete(`${recipient}/dkgVerify`);
      if (verdict.verified) {
        takeOffer(turn, job);
      } else {
        // A caller's bytes blame the call: the session is as it was, and the right share can still follow.
        work.jobs.splice(work.jobs.indexOf(job), 1);
        const code = verdict.code === 'COMMITMENT_MISMATCH' ? 'COMMITMENT_MISMATCH' : 'SHARE_VERIFICATION_FAILED';
        reply(turn, job.call, answer(code, `encrypted_share: ${quotedText(verdict.message)}`));
      }
    } else if (!verdict.verified && !isPlayed(record, verdict.dealer) && nodeIds(record).includes(verdict.dealer)) {
      const culprit = judgeVerdict(turn, recipient, verdict);
      const text = `node ${recipient} on ${quotedText(verdict.message)}`;
      failAttempt(turn, culprit === undefined ? [] : [culprit], text);
    }
    if (turn.persisted) return;
  }
}

function refused(turn: DkgTurn, nodeId: number, { code, message }: DkgRefused): void {
  const { work, record } = turn.state;
  const said = quotedText(message);
  if (code === 'ALREADY_FINAL' && work.flights.has(`${nodeId}/dkgSeal`)) {
    // A coordinator before this one got as far as the echo: every node has its result, and some have their key.
    work.confirming = true;
    askForResults(turn, nodeIds(record));
    return;
  }
  const reason = offerRefusals.get(code);
  const job = reason && work.jobs.find((one) => one.offer?.recipient === nodeId);
  if (reason && job) {
    work.flights.delete(`${nodeId}/dkgVerify`);
    work.jobs.splice(work.jobs.indexOf(job), 1);
    const text = reason === 'CLIENT_DEALERS_NOT_ALLOWED' ? `node ${nodeId} refuses it: ${said}` : said;
    reply(turn, job.call, answer(reason, `encrypted_share: ${text}`));
    return;
  }
  // The node refuses a share that its caller was answered for already: nothing changed.
  if (code === 'CLIENT_DEALERS_NOT_ALLOWED') return;
  // All results were found signed and equal here before anybody was asked to confirm them.
  const lies = code === 'TRANSCRIPT_MISMATCH' || code === 'SIGNATURE_INVALID';
  failAttempt(turn, lies ? [nodeId] : [], `node ${nodeId} refused: ${quotedText(code)} (${said})`);
}

/** Why a node does not take a client-supplied share, and what its caller is told: the session is as it was. */
const offerRefusals: ReadonlyMap<string, 'SHARE_VERIFICATION_FAILED' | 'CLIENT_DEALERS_NOT_ALLOWED'> = new Map([
  ['FINISH_FAILED', 'SHARE_VERIFICATION_FAILED'],
  ['CLIENT_DEALERS_NOT_ALLOWED', 'CLIENT_DEALERS_NOT_ALLOWED'],
] as const);

/** What of a node's own words goes into a message. */
function quotedText(text: string): string {
  return text.slice(0, 200);
}
