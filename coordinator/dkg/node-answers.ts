/**
 * Handles the answers of nodes in a DKG attempt.
 *
 * An answer counts once, and only to a request of this coordinator (requests.ts). Other messages are ignored, unless they are
 * evidence by themselves: a second opening or a second result of one attempt, both signed.
 */
import { isSignedOpening, sameResult, verifyFinished } from '../../core/crypto/dkg-transcripts.ts';
import type {
  DkgFinished,
  DkgOpened,
  DkgRefused,
  DkgSealed,
  DkgVerified,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { isSharedKey } from '../../proto/key-schemes.ts';
import type { ReasonCode } from '../../proto/reason-codes.ts';
import type { WireBody, WireMessage } from '../../proto/wire.ts';
import { answer } from '../contract/answers.ts';
import { receivedBody } from '../contract/messages.ts';
import { isOpen } from '../contract/transitions.ts';
import { reply } from '../session/turn.ts';
import { evaluateVerdict, failAttempt, identityOf, isOwnResult, openingFault, sameOpening } from './blame.ts';
import { takeDkgCalls } from './calls.ts';
import { expireDkg } from './finalize.ts';
import { countAsSilent } from './replacing.ts';
import { takeAsked } from './requests.ts';
import { takeOffer } from './round.ts';
import {
  boxCount,
  type DkgSessionStep,
  type DkgWork,
  isClientSupplied,
  type Job,
  nodeIds,
  pair,
  termsOf,
  type UnansweredRequest,
} from './state.ts';

/** A node's message about this attempt. */
export function takeNodeMessage(turn: DkgSessionStep, from: string, message: WireMessage): void {
  const { record, work } = turn.state;
  const nodeId = Number(/^node\/(\d+)\//.exec(from)?.[1]);
  if (!nodeIds(record).includes(nodeId)) return;
  if (message.attempt !== record.ceremony.attempt || !isOpen(record.state) || expireDkg(turn)) return;
  const body = receivedBody(message);
  const asked = takeAsked(work, nodeId, body);
  if (asked === undefined) {
    takeEvidence(turn, nodeId, body);
    takeDkgCalls(turn);
    return;
  }
  const before = known(work);
  switch (body.case) {
    case 'dkgOpened':
      opened(turn, nodeId, body.value);
      break;
    case 'dkgSealed':
      sealed(turn, nodeId, body.value);
      break;
    case 'dkgVerified':
      verified(turn, nodeId, asked, body.value);
      break;
    case 'dkgConfirmed':
      work.confirmed.add(nodeId);
      break;
    case 'dkgRefused':
      refused(turn, nodeId, asked, body.value);
      break;
  }
  // A message with nothing new does not count as the answer: the timer repeats the request, not this step.
  if (known(work) > before && !turn.persisted) {
    work.flights.delete(`${nodeId}/${asked.kind}`);
    work.silence.delete(nodeId);
    if (work.watching) {
      // Both waits begin again: nodes that share a busy process answer one after the other, and a repeated request would only
      // give it more work.
      turn.effects.push(
        { kind: 'startTimer', name: 'nodes', afterMs: turn.config.nodesWaitMs },
        { kind: 'startTimer', name: 'repeat', afterMs: turn.config.partialTimeoutMs },
      );
    }
  }
  takeDkgCalls(turn);
}

/** How much this actor has learned from nodes in this attempt. */
function known(work: DkgWork): number {
  const { openings, verified, finished, confirmed } = work;
  return openings.size + boxCount(work) + verified.size + finished.size + confirmed.size;
}

/** Two contradicting signed messages prove a node's fault, whether they were requested or not. */
function takeEvidence(turn: DkgSessionStep, nodeId: number, body: WireBody): void {
  const { work, record } = turn.state;
  const terms = termsOf(record, turn.config);
  if (body.case === 'dkgOpened') {
    const { opening } = body.value;
    const first = work.openings.get(nodeId);
    if (!first || opening?.dealer !== nodeId || sameOpening(first, opening)) return;
    if (isSignedOpening(terms, opening, identityOf(turn, nodeId))) failAttempt(turn, [nodeId], dealtTwice);
  } else if (body.case === 'dkgVerified') {
    const first = work.finished.get(nodeId);
    const { finished } = body.value;
    if (!first || !finished || sameResult(first, finished)) return;
    if (isOwnResult(turn, nodeId, finished)) failAttempt(turn, [nodeId], twoResults);
  }
}

const dealtTwice = 'it dealt twice: two different openings, both signed';
const twoResults = 'two different results, both signed';

function opened(turn: DkgSessionStep, nodeId: number, { opening }: DkgOpened): void {
  const { openings } = turn.state.work;
  if (!opening || opening.dealer !== nodeId || opening.clientSupplied) {
    failAttempt(turn, [nodeId], 'its opening names another dealer');
    return;
  }
  const first = openings.get(nodeId);
  if (first && sameOpening(first, opening)) return;
  const fault = openingFault(turn, opening);
  if (fault) failAttempt(turn, [nodeId], fault);
  else if (first) failAttempt(turn, [nodeId], dealtTwice);
  else openings.set(nodeId, opening);
}

function sealed(turn: DkgSessionStep, nodeId: number, { shares }: DkgSealed): void {
  const { record, work } = turn.state;
  const ids = nodeIds(record);
  const boxes = new Map(work.boxes.get(nodeId));
  for (const share of shares) {
    const { dealer, recipient } = share;
    // The first box counts: the coordinator relayed it and evaluates complaints by it.
    if (dealer === nodeId && ids.includes(recipient) && !boxes.has(recipient)) boxes.set(recipient, share);
  }
  work.boxes.set(nodeId, boxes);
}

function verified(turn: DkgSessionStep, recipient: number, asked: UnansweredRequest, said: DkgVerified): void {
  const { work, record } = turn.state;
  if (said.finished && !isOwnResult(turn, recipient, said.finished)) {
    failAttempt(turn, [recipient], 'its result is not signed by it');
    return;
  }
  const reported = work.finished.get(recipient);
  if (said.finished && reported && !sameResult(reported, said.finished)) {
    failAttempt(turn, [recipient], twoResults);
    return;
  }
  const job = liveJob(work, asked);
  takeVerdicts(turn, recipient, asked, said);
  for (const verdict of said.verdicts) {
    if (verdict.dealer === asked.job?.offer?.dealer) {
      // Without its call it is late: the call already has its answer, and the session does not change.
      if (!job) continue;
      work.flights.delete(`${recipient}/dkgVerify`);
      if (verdict.verified) {
        takeOffer(turn, job);
      } else {
        // A wrong share from a caller fails only the call: the session does not change, and the right share can still follow.
        work.jobs.splice(work.jobs.indexOf(job), 1);
        const code = verdict.code === 'COMMITMENT_MISMATCH' ? 'COMMITMENT_MISMATCH' : 'SHARE_VERIFICATION_FAILED';
        reply(turn, job.call, answer(code, `encrypted_share: ${quotedText(verdict.message)}`));
      }
    } else if (
      !verdict.verified &&
      !isClientSupplied(record, verdict.dealer) &&
      nodeIds(record).includes(verdict.dealer)
    ) {
      const culprit = evaluateVerdict(turn, recipient, verdict);
      const text = `node ${recipient} on ${quotedText(verdict.message)}`;
      if (culprit !== undefined) failAttempt(turn, [culprit], text);
      else failAttempt(turn, [], text, [recipient, verdict.dealer]);
    } else if (!verdict.verified && !asked.job && asked.dealers.includes(verdict.dealer)) {
      // A client-supplied dealer's own share, which matches the commitments of its other shares.
      failAttempt(turn, [], `node ${recipient} on its own share: ${quotedText(verdict.message)}`, [recipient]);
    }
    if (turn.persisted) return;
  }
  if (asked.kind === 'dkgVerify' && asked.dealers.length === 0 && !said.finished) {
    failAttempt(turn, [], `node ${recipient} has no result, though it verified a share of every dealer`, [recipient]);
  }
}

/** The call whose share a request carried, while it waits for the answer. */
function liveJob(work: DkgWork, { job }: UnansweredRequest): Job | undefined {
  return job && work.jobs.includes(job) ? job : undefined;
}

/** The shares that a recipient has: of the requested dealers, and all once it has finished. */
function takeVerdicts(turn: DkgSessionStep, recipient: number, asked: UnansweredRequest, said: DkgVerified): void {
  const { record, work } = turn.state;
  const counts = asked.job === undefined || liveJob(work, asked) !== undefined;
  for (const { dealer, verified } of said.verdicts) {
    if (verified && counts && asked.dealers.includes(dealer)) work.verified.add(pair(dealer, recipient));
  }
  if (!said.finished) return;
  work.finished.set(recipient, said.finished);
  for (const dealer of nodeIds(record)) work.verified.add(pair(dealer, recipient));
}

function refused(
  turn: DkgSessionStep,
  nodeId: number,
  asked: UnansweredRequest,
  { code, message, results }: DkgRefused,
): void {
  const { work } = turn.state;
  if (code === 'ALREADY_FINAL' && takeProof(turn, results)) return;
  // All nodes have signed the result, it too. Once a client has seen the refusal and resumed, it blocks the key no longer.
  const refusesAgain = asked.kind === 'dkgConfirm' && turn.state.record.ceremony.stalledBy?.includes(nodeId);
  if (refusesAgain && countAsSilent(turn, nodeId)) return;
  const said = quotedText(message);
  const reason = asked.job && offerRefusals.get(code);
  if (reason) {
    const job = liveJob(work, asked);
    // Without its call it is late: the call already has its answer, and the session does not change.
    if (!job) return;
    work.flights.delete(`${nodeId}/dkgVerify`);
    work.jobs.splice(work.jobs.indexOf(job), 1);
    const text = reason === 'CLIENT_DEALERS_NOT_ALLOWED' ? `node ${nodeId} refuses it: ${said}` : said;
    reply(turn, job.call, answer(reason, `encrypted_share: ${text}`));
    return;
  }
  // For a shared key it is a refusal like any other, since no token takes part.
  const token = isSharedKey(turn.state.record.ceremony.scheme ?? '') ? undefined : tokenFaults.get(code);
  if (token) {
    failAttempt(turn, [], `node ${nodeId}: ${said}`, [nodeId], token);
    return;
  }
  // A refusal is no evidence: an attacker may have changed the request in transit.
  failAttempt(turn, [], `node ${nodeId} refused: ${quotedText(code)} (${said})`, [nodeId]);
}

/** The reason why the token, or the vendor, of a node made no key, from the node's refusal. */
const tokenFaults: ReadonlyMap<string, ReasonCode> = new Map<string, ReasonCode>([
  ['HSM_UNCONFIGURED', 'KEYSTORE_UNAVAILABLE'],
  ['HSM_SESSION_LOST', 'HSM_SESSION_LOST'],
  ['HSM_PIN_REFUSED', 'HSM_PIN_REFUSED'],
  ['HSM_TIMEOUT', 'HSM_TIMEOUT'],
  ['HSM_TOKEN_ABSENT', 'HSM_TOKEN_ABSENT'],
  ['HSM_FAILED', 'HSM_FAILED'],
  ['VENDOR_UNCONFIGURED', 'KEYSTORE_UNAVAILABLE'],
  ['VENDOR_UNAVAILABLE', 'VENDOR_UNAVAILABLE'],
]);

/** The reason why a node refuses a client-supplied share, as its caller gets it; the session does not change. */
const offerRefusals: ReadonlyMap<string, 'SHARE_VERIFICATION_FAILED' | 'CLIENT_DEALERS_NOT_ALLOWED'> = new Map([
  ['FINISH_FAILED', 'SHARE_VERIFICATION_FAILED'],
  ['CLIENT_DEALERS_NOT_ALLOWED', 'CLIENT_DEALERS_NOT_ALLOWED'],
] as const);

/**
 * A node says that its key is final. The claim counts only with the results that all nodes signed for this attempt, which the
 * request to confirm contained; then the round continues with these. Without them it is an ordinary refusal.
 */
function takeProof(turn: DkgSessionStep, results: readonly DkgFinished[]): boolean {
  const { record, work } = turn.state;
  const ids = nodeIds(record);
  const terms = termsOf(record, turn.config);
  const byNode = new Map(results.map((result) => [result.nodeId, result]));
  if (results.length !== ids.length || byNode.size !== ids.length) return false;
  for (const id of ids) {
    const result = byNode.get(id);
    if (!result || !sameResult(result, results[0]!)) return false;
    if (!verifyFinished(terms, result, identityOf(turn, id))) return false;
  }
  for (const [id, result] of byNode) {
    work.finished.set(id, result);
    for (const dealer of ids) work.verified.add(pair(dealer, id));
  }
  return true;
}

/** The part of a node's own text that goes into a message. */
function quotedText(text: string): string {
  return text.slice(0, 200);
}
