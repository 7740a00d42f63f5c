/**
 * Advances a round: after every event, `advanceRound` compares the needs of the waiting calls with the state of the round
 * (round.ts), and takes the next step. This file also handles the events from the cluster and from timers.
 */
import { CryptoError } from '../../core/crypto/errors.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import { clusterAddress, type DrawnNonce, nodeAddress, nodeFault, wire } from '../contract/messages.ts';
import { isOpen } from '../contract/transitions.ts';
import { type Persisted, reply } from '../session/turn.ts';
import { type Attempt, bindsSigners, isNoncePoint, isSigner, openAttempt, partialRequest } from './attempt.ts';
import { expire, failUnordered } from './finalize.ts';
import { fallenSilent, keysForgiven, readyKnown, silenceForgiven, watchBegun } from './nodes-seen.ts';
import { acceptPartials, takeOffers, usePreviewAnswers } from './partials.ts';
import {
  failPreviewsOf,
  mustRedrawForPreview,
  preferredForPreviews,
  previewedNodes,
  redrawAgain,
  servePreviews,
} from './previews.ts';
import { roundFiltered, type SubmitCall } from './queue.ts';
import {
  askedOf,
  attemptAbandoned,
  attemptOf,
  awaitsDraw,
  drawRequested,
  nodesAsked,
  nodesReleased,
  noncesDrawn,
  noncesRejected,
} from './round.ts';
import { askedAside } from './sandbox-work.ts';
import {
  healthyNodes,
  isBusy,
  isHealthy,
  knownKey,
  leaveRound,
  type OpenState,
  participants,
  type SigningSessionStep,
} from './state.ts';

/** Does everything that is possible now for the waiting calls. */
export function advanceRound(turn: SigningSessionStep): Persisted | undefined {
  const { work, record } = turn.state;
  if (!isOpen(record.state)) return undefined;
  if (isBusy(work)) return expire(turn) ?? failUnordered(turn) ?? useArrived(turn) ?? askForMissing(turn);
  if (work.nodes.watch) leaveRound(turn);
  return undefined;
}

/** Uses the partials of the attempt that callers gave, and that nodes sent. */
function useArrived(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  if (!work.nodes.watch) {
    work.nodes = watchBegun(work.nodes);
    turn.effects.push(
      { kind: 'send', to: clusterAddress, message: { kind: 'watch' } },
      { kind: 'startTimer', name: 'quorum', afterMs: turn.config.nodesWaitMs },
      { kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs },
    );
  }
  if (!attemptOf(work.round)) return undefined;
  takeOffers(turn);
  return usePreviewAnswers(turn) ?? acceptPartials(turn);
}

/** Asks nodes for what the waiting calls still need, in this attempt or the next. */
function askForMissing(turn: SigningSessionStep): undefined {
  const { work } = turn.state;
  if (!isBusy(work)) {
    leaveRound(turn);
    return;
  }
  if (mustRedraw(turn) || mustRedrawForPreview(turn)) {
    // The answers of its nodes go with the attempt.
    servePreviews(turn);
    work.round = attemptAbandoned(work.round);
  }
  const attempt = attemptOf(work.round);
  if (attempt) ask(turn, attempt);
  else requestDraw(turn);
}

/** Asks the cluster for the nonces of the next attempt, unless a draw is in progress. */
export function requestDraw(turn: SigningSessionStep): void {
  const { work } = turn.state;
  const { key, task, round } = work;
  if (key.kind !== 'known' || !task || round.phase === 'drawing') return;
  const { threshold } = key.record;
  const healthy = healthyNodes(turn.state);
  const wanted = [...work.queue.steps.keys(), ...round.history.askAgain, ...preferredForPreviews(work)];
  work.round = drawRequested(round);
  turn.effects.push({
    kind: 'send',
    to: clusterAddress,
    message: {
      kind: 'draw',
      ticket: work.round.history.draws,
      scheme: task.scheme,
      count: threshold,
      // Too few nodes without the unreachable and silent ones, which may return.
      candidates: healthy.length >= threshold ? healthy : participants(turn.state),
      preferred: [...new Set(wanted)].filter((id) => healthy.includes(id)),
    },
  });
}

/** The cluster gave nonces: the next attempt begins. */
export function drawn(turn: SigningSessionStep, ticket: number, nonces: readonly DrawnNonce[]): Persisted | undefined {
  beginAttempt(turn, ticket, nonces);
  return advanceRound(turn);
}

function beginAttempt(turn: SigningSessionStep, ticket: number, nonces: readonly DrawnNonce[]): void {
  const { work } = turn.state;
  const { round, task } = work;
  if (!awaitsDraw(round, ticket) || !task) return;
  const tag = Buffer.from(turn.context.random(8)).readBigUInt64BE();
  let attempt: Attempt;
  try {
    attempt = openAttempt(task, round.history.attempts + 1, nonces, turn.config.coordinatorBoot, tag);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    // Nonces that do not form a round: draw others.
    work.round = noncesRejected(round);
    requestDraw(turn);
    return;
  }
  work.round = noncesDrawn(round, attempt);
  refuseOtherNonces(turn, attempt);
}

/** FROST: a call wants a node outside the set, or a node inside cannot answer while enough others are ready. */
function mustRedraw(turn: SigningSessionStep): boolean {
  const { work } = turn.state;
  const attempt = attemptOf(work.round);
  if (!attempt || !bindsSigners(attempt)) return false;
  const healthy = healthyNodes(turn.state);
  const { threshold } = knownKey(work);
  const wanted = [...work.queue.steps.keys()].filter((id) => healthy.includes(id) && !attempt.partials.has(id));
  const outside = wanted.filter((id) => !isSigner(attempt, id));
  // Nodes inside come first, unless one attempt can include all of them: otherwise each attempt would follow the last at once.
  if (outside.length > 0 && (wanted.length <= threshold || outside.length === wanted.length)) return true;
  if (work.queue.gathers.length === 0 || healthy.length < threshold) return false;
  return attempt.nonces.some(({ nodeId }) => !attempt.partials.has(nodeId) && !healthy.includes(nodeId));
}

/** Asks the nodes whose partials the calls and the previews want. */
function ask(turn: SigningSessionStep, attempt: Attempt): void {
  const { work, record } = turn.state;
  const mayAsk = (id: number) => !askedOf(work.round).has(id) && canAnswer(turn.state, attempt, id);
  const wanted = new Set([...work.queue.steps.keys(), ...work.round.history.askAgain].filter(mayAsk));
  for (const id of missingForQuorum(turn.state, attempt, wanted)) wanted.add(id);
  const aside = previewedNodes(work).filter((id) => mayAsk(id) && !wanted.has(id));
  work.sandbox = askedAside(work.sandbox, attempt, aside);
  for (const id of aside) wanted.add(id);
  if (wanted.size === 0) return;
  work.round = nodesAsked(work.round, wanted, turn.context.nowMs);
  const about = { tenant: record.tenant, session: record.sessionId, attempt: attempt.number };
  for (const id of wanted) {
    const value = partialRequest(work.task!, attempt, id, record.ceremony);
    turn.effects.push({ kind: 'send', to: nodeAddress(id), message: wire(about, { case: 'partialRequest', value }) });
  }
  turn.effects.push({ kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs });
}

/** Whether a node can still give its partial in this attempt. */
function canAnswer(state: OpenState, attempt: Attempt, id: number): boolean {
  if (attempt.partials.has(id) || !isHealthy(state, id)) return false;
  return !bindsSigners(attempt) || isSigner(attempt, id);
}

/** The nodes that a call for the whole signature needs besides these and those asked, signers of the attempt first. */
function missingForQuorum(state: OpenState, attempt: Attempt, wanted: ReadonlySet<number>): number[] {
  const { queue, round } = state.work;
  if (queue.gathers.length === 0) return [];
  const mayCome = (id: number) => canAnswer(state, attempt, id);
  const coming = attempt.partials.size + wanted.size + [...askedOf(round)].filter(mayCome).length;
  const missing = knownKey(state.work).threshold - coming;
  // After most answers nothing is missing.
  if (missing <= 0) return [];
  const others = new Set([...attempt.nonces.map(({ nodeId }) => nodeId), ...healthyNodes(state)]);
  return [...others].filter((id) => !wanted.has(id) && !askedOf(round).has(id) && mayCome(id)).slice(0, missing);
}

/** A request did not reach its node. The node counts as silent; the cluster reports it once it notices the disconnect. */
export function requestUndelivered(turn: SigningSessionStep, nodeId: number): Persisted | undefined {
  const { work } = turn.state;
  work.round = nodesReleased(work.round, (id) => id === nodeId);
  work.nodes = fallenSilent(work.nodes, [nodeId]);
  return advanceRound(turn);
}

/** Replaces nodes that were asked and are silent for too long; without other nodes it asks them again. */
export function replaceSilent(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  if (!isBusy(work) || work.key.kind !== 'known') return undefined;
  const fallen = [...askedOf(work.round)].filter((id) => !work.nodes.silent.has(id));
  for (const id of fallen) turn.effects.push(nodeFault(id, 'silent'));
  work.nodes = fallenSilent(work.nodes, fallen);
  const { silent } = work.nodes;
  failPreviewsOf(turn, silent, (id) => `node ${id} did not answer within ${turn.config.partialTimeoutMs} ms`);
  redrawAgain(turn);
  if (healthyNodes(turn.state).length < work.key.record.threshold) {
    work.nodes = silenceForgiven(work.nodes);
    work.round = nodesReleased(work.round, () => true);
    const attempt = attemptOf(work.round);
    if (attempt && bindsSigners(attempt)) work.round = attemptAbandoned(work.round);
  }
  turn.effects.push({ kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs });
  return advanceRound(turn);
}

/** Nodes that had no share of the key when they were asked may have it now. The session waits for them if the others are too few. */
export function askKeylessAgain(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  if (!isBusy(work) || healthyNodes(turn.state).length >= knownKey(work).threshold) return undefined;
  work.nodes = keysForgiven(work.nodes);
  // The draw that is open leaves them out.
  if (work.round.phase === 'drawing') work.round = noncesRejected(work.round);
  return advanceRound(turn);
}

/**
 * The set of ready nodes has changed. The session does not wait for nodes that another session found silent, if enough others
 * are ready and no call names them: it may have drawn its nonces before that finding.
 */
export function nodesChanged(
  turn: SigningSessionStep,
  ready: readonly number[],
  suspects: readonly number[],
): Persisted | undefined {
  const { work } = turn.state;
  const { watch } = work.nodes;
  if (!watch) {
    turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
    return undefined;
  }
  work.nodes = readyKnown(work.nodes, ready);
  work.round = nodesReleased(work.round, (id) => !ready.includes(id));
  if (watch.ready === undefined) passOver(turn, suspects);
  return advanceRound(turn);
}

function passOver(turn: SigningSessionStep, suspects: readonly number[]): void {
  const { work } = turn.state;
  const others = healthyNodes(turn.state).filter((id) => !suspects.includes(id));
  if (others.length < knownKey(work).threshold || previewedNodes(work).length > 0) return;
  const partials = attemptOf(work.round)?.partials;
  work.nodes = fallenSilent(
    work.nodes,
    suspects.filter((id) => !work.queue.steps.has(id) && !partials?.has(id)),
  );
}

/** Refuses the calls in the round that name another nonce point than this attempt's. */
function refuseOtherNonces(turn: SigningSessionStep, attempt: Attempt): void {
  const { work } = turn.state;
  const isRefused = (call: SubmitCall): boolean => {
    const fault = noncePointFault(attempt, call);
    if (fault) reply(turn, call, fault);
    return fault !== undefined;
  };
  work.queue = roundFiltered(work.queue, (call) => !isRefused(call));
}

/** The fault of a call's nonce point, if it gave one. */
export function noncePointFault(attempt: Attempt, { request }: SubmitCall): CallAnswer | undefined {
  const { ephemeralPublicKey } = request;
  if (ephemeralPublicKey.length === 0 || isNoncePoint(attempt, ephemeralPublicKey)) return undefined;
  return answer('INVALID_REQUEST', "ephemeral_public_key is not this attempt's nonce point R");
}
