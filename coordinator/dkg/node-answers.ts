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
  DkgVerdict,
  DkgVerified,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { isSharedKey } from '../../proto/key-schemes.ts';
import type { ReasonCode } from '../../proto/reason-codes.ts';
import type { WireBody, WireMessage } from '../../proto/wire.ts';
import { answer } from '../contract/call-answer.ts';
import { dkgAddress, receivedBody } from '../contract/messages.ts';
import { sessionOfShares } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { type Persisted, reply } from '../session/turn.ts';
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
  type RequestCase,
  termsOf,
  type UnansweredRequest,
} from './state.ts';

/** A node's message about this attempt. */
export function takeNodeMessage(turn: DkgSessionStep, from: string, message: WireMessage): Persisted | undefined {
  const { record, work } = turn.state;
  // The signer of a node answers once it uses the shares of a refresh.
  const nodeId = Number(/^node\/(\d+)(\/|$)/.exec(from)?.[1]);
  if (!nodeIds(record).includes(nodeId)) return undefined;
  if (message.attempt !== record.ceremony.attempt || !isOpen(record.state)) return undefined;
  const expired = expireDkg(turn);
  if (expired) return expired;
  const body = receivedBody(message);
  const asked = takeAsked(work, nodeId, body);
  const written = asked ? takeAnswer(turn, nodeId, asked, body) : takeEvidence(turn, nodeId, body);
  return written ?? takeDkgCalls(turn);
}

function takeAnswer(
  turn: DkgSessionStep,
  nodeId: number,
  asked: UnansweredRequest,
  body: WireBody,
): Persisted | undefined {
  const { work } = turn.state;
  const before = known(work);
  const written = takeBody(turn, nodeId, asked, body);
  // A message with nothing new does not count as the answer: the timer repeats the request, not this step.
  if (!written && known(work) > before) {
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
  return written;
}

function takeBody(
  turn: DkgSessionStep,
  nodeId: number,
  asked: UnansweredRequest,
  body: WireBody,
): Persisted | undefined {
  switch (body.case) {
    case 'dkgOpened':
      return opened(turn, nodeId, body.value);
    case 'dkgSealed':
      return sealed(turn, nodeId, body.value);
    case 'dkgVerified':
      return verified(turn, nodeId, asked, body.value);
    case 'dkgConfirmed':
      turn.state.work.confirmed.add(nodeId);
      return undefined;
    case 'dkgRefused':
      return refused(turn, nodeId, asked, body.value);
    default:
      return undefined;
  }
}

/** How much this actor has learned from nodes in this attempt. */
function known(work: DkgWork): number {
  const { openings, verified, finished, confirmed } = work;
  return openings.size + boxCount(work) + verified.size + finished.size + confirmed.size;
}

/** Two contradicting signed messages prove a node's fault, whether they were requested or not. */
function takeEvidence(turn: DkgSessionStep, nodeId: number, body: WireBody): Persisted | undefined {
  const { work, record } = turn.state;
  const terms = termsOf(record, turn.config);
  if (body.case === 'dkgOpened') {
    const { opening } = body.value;
    const first = work.openings.get(nodeId);
    if (!first || opening?.dealer !== nodeId || sameOpening(first, opening)) return undefined;
    if (isSignedOpening(terms, opening, identityOf(turn, nodeId))) return failAttempt(turn, [nodeId], dealtTwice);
  } else if (body.case === 'dkgVerified') {
    const first = work.finished.get(nodeId);
    const { finished } = body.value;
    if (!first || !finished || sameResult(first, finished)) return undefined;
    if (isOwnResult(turn, nodeId, finished)) return failAttempt(turn, [nodeId], twoResults);
  }
  return undefined;
}

const dealtTwice = 'it dealt twice: two different openings, both signed';
const twoResults = 'two different results, both signed';

function opened(turn: DkgSessionStep, nodeId: number, { opening }: DkgOpened): Persisted | undefined {
  const { openings } = turn.state.work;
  if (!opening || opening.dealer !== nodeId || opening.clientSupplied) {
    return failAttempt(turn, [nodeId], 'its opening names another dealer');
  }
  const first = openings.get(nodeId);
  if (first && sameOpening(first, opening)) return undefined;
  const fault = openingFault(turn, opening) ?? (first && dealtTwice);
  if (fault) return failAttempt(turn, [nodeId], fault);
  openings.set(nodeId, opening);
  // The first opening of a refresh is what a node waits for that has signed a result of an earlier attempt.
  if (turn.state.record.ceremony.refreshes && openings.size === 1) dropFlights(turn, 'dkgOpen');
  return undefined;
}

/** Asks again for what this request asked for. */
function dropFlights({ state: { work } }: DkgSessionStep, kind: RequestCase): void {
  for (const flight of [...work.flights]) if (flight.endsWith(`/${kind}`)) work.flights.delete(flight);
}

function sealed(turn: DkgSessionStep, nodeId: number, { shares }: DkgSealed): undefined {
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

function verified(
  turn: DkgSessionStep,
  recipient: number,
  asked: UnansweredRequest,
  said: DkgVerified,
): Persisted | undefined {
  const { work } = turn.state;
  if (said.finished && !isOwnResult(turn, recipient, said.finished)) {
    return failAttempt(turn, [recipient], 'its result is not signed by it');
  }
  const reported = work.finished.get(recipient);
  if (said.finished && reported && !sameResult(reported, said.finished)) {
    return failAttempt(turn, [recipient], twoResults);
  }
  takeVerdicts(turn, recipient, asked, said);
  for (const verdict of said.verdicts) {
    const written =
      verdict.dealer === asked.job?.offer?.dealer
        ? offerVerdict(turn, recipient, asked, verdict)
        : dealerVerdict(turn, recipient, asked, verdict);
    if (written) return written;
  }
  if (asked.kind !== 'dkgVerify' || asked.dealers.length > 0 || said.finished) return undefined;
  const text = `node ${recipient} has no result, though it verified a share of every dealer`;
  return failAttempt(turn, [], text, [recipient]);
}

/** On a share that a caller gave. */
function offerVerdict(
  turn: DkgSessionStep,
  recipient: number,
  asked: UnansweredRequest,
  { verified, code, message }: DkgVerdict,
): Persisted | undefined {
  const { work } = turn.state;
  const job = liveJob(work, asked);
  // Without its call it is late: the call already has its answer, and the session does not change.
  if (!job) return undefined;
  work.flights.delete(`${recipient}/dkgVerify`);
  if (verified) return takeOffer(turn, job);
  // A wrong share from a caller fails only the call: the session does not change, and the right share can still follow.
  work.jobs.splice(work.jobs.indexOf(job), 1);
  const reason = code === 'COMMITMENT_MISMATCH' ? code : 'SHARE_VERIFICATION_FAILED';
  reply(turn, job.call, answer(reason, `encrypted_share: ${quotedText(message)}`));
  return undefined;
}

/** On a share that a node dealt, or on the recipient's own share of a client-supplied dealer. */
function dealerVerdict(
  turn: DkgSessionStep,
  recipient: number,
  asked: UnansweredRequest,
  verdict: DkgVerdict,
): Persisted | undefined {
  const { record } = turn.state;
  const { dealer, message } = verdict;
  if (verdict.verified) return undefined;
  if (!isClientSupplied(record, dealer) && nodeIds(record).includes(dealer)) {
    const culprit = evaluateVerdict(turn, recipient, verdict);
    const text = `node ${recipient} on ${quotedText(message)}`;
    return culprit === undefined
      ? failAttempt(turn, [], text, [recipient, dealer])
      : failAttempt(turn, [culprit], text);
  }
  if (asked.job || !asked.dealers.includes(dealer)) return undefined;
  // A client-supplied dealer's own share, which matches the commitments of its other shares.
  return failAttempt(turn, [], `node ${recipient} on its own share: ${quotedText(message)}`, [recipient]);
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
): Persisted | undefined {
  const { work } = turn.state;
  // It is asked again once another node has opened.
  if (code === 'RESULT_SIGNED' && asked.kind === 'dkgOpen') return undefined;
  if (code === 'ALREADY_FINAL' && takeProof(turn, results)) return undefined;
  // All nodes have signed the result, it too. Once a client has seen the refusal and resumed, it blocks the key no longer.
  const refusesAgain = asked.kind === 'dkgConfirm' && turn.state.record.ceremony.stalledBy?.includes(nodeId);
  if (refusesAgain && countAsSilent(turn, nodeId)) return undefined;
  const said = quotedText(message);
  const reason = asked.job && offerRefusals.get(code);
  if (reason) {
    const job = liveJob(work, asked);
    // Without its call it is late: the call already has its answer, and the session does not change.
    if (!job) return undefined;
    work.flights.delete(`${nodeId}/dkgVerify`);
    work.jobs.splice(work.jobs.indexOf(job), 1);
    const text = reason === 'CLIENT_DEALERS_NOT_ALLOWED' ? `node ${nodeId} refuses it: ${said}` : said;
    reply(turn, job.call, answer(reason, `encrypted_share: ${text}`));
    return undefined;
  }
  // It has missed the commit of the version before.
  const { refreshes } = turn.state.record.ceremony;
  if (refreshes && code === 'KEY_UNKNOWN') {
    const to = dkgAddress(turn.state.record.tenant, sessionOfShares(refreshes.key));
    turn.effects.push({ kind: 'send', to, message: { kind: 'keyUnknown', nodeId } });
  }
  // For a shared key it is a refusal like any other, since no token takes part.
  const token = isSharedKey(turn.state.record.ceremony.scheme ?? '') ? undefined : tokenFaults.get(code);
  if (token) return failAttempt(turn, [], `node ${nodeId}: ${said}`, [nodeId], token);
  // A refusal is no evidence: an attacker may have changed the request in transit.
  return failAttempt(turn, [], `node ${nodeId} refused: ${quotedText(code)} (${said})`, [nodeId]);
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
