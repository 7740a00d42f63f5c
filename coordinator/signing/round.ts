/**
 * The round: drawing nonces, asking nodes, and replacing those that do not answer.
 *
 * Every input ends in `pump`, which does whatever can be done now for the calls that wait.
 */
import { CryptoError } from '../../crypto/errors.ts';
import { clusterAddress, type DrawnNonce, nodeAddress, nodeFault, wire } from '../messages.ts';
import { answer } from '../session/answers.ts';
import { isOpen } from '../session/transitions.ts';
import { reply } from '../session/turn.ts';
import { type Attempt, bindsSigners, isNoncePoint, isSigner, openAttempt, partialRequest } from './attempt.ts';
import { expire, failUnordered } from './closing.ts';
import { giveUpAttempt, settle, takeKept, takeOffers } from './partials.ts';
import { failPreviewsOf, mustRedrawForPreview, preferredForPreviews, previewedNodes, redrawAgain } from './previews.ts';
import { healthyNodes, isBusy, leaveRound, participants, type SubmitCall, type Turn } from './state.ts';

/** Asks the cluster for the nonces of the next attempt, unless a draw is under way. */
export function requestDraw(turn: Turn): void {
  const { work } = turn.state;
  const { key, task } = work;
  if (!key || !task || work.drawing !== 0) return;
  const healthy = healthyNodes(turn.state);
  work.tickets += 1;
  work.drawing = work.tickets;
  turn.effects.push({
    kind: 'send',
    to: clusterAddress,
    message: {
      kind: 'draw',
      ticket: work.tickets,
      scheme: task.scheme,
      count: key.threshold,
      // Too few without those who are away or silent: they may come back.
      candidates: healthy.length >= key.threshold ? healthy : participants(turn.state),
      preferred: [...new Set([...work.steps.keys(), ...work.askAgain, ...preferredForPreviews(work)])].filter((id) =>
        healthy.includes(id),
      ),
    },
  });
}

/** The cluster gave nonces: the next attempt begins. */
export function drawn(turn: Turn, ticket: number, nonces: readonly DrawnNonce[]): void {
  const { work } = turn.state;
  if (ticket !== work.drawing || !work.task) return;
  work.drawing = 0;
  const tag = Buffer.from(turn.context.random(8)).readBigUInt64BE();
  try {
    work.attempt = openAttempt(work.task, work.attempts + 1, nonces, turn.config.coordinatorBoot, tag);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    // Nonces that do not make a round: draw others.
    requestDraw(turn);
    return;
  }
  work.attempts += 1;
  refuseOtherNonces(turn, work.attempt);
}

/** Does whatever can be done now for the calls that wait. */
export function pump(turn: Turn): void {
  const { work, record } = turn.state;
  if (turn.persisted || !isOpen(record.state)) return;
  if (!isBusy(work)) {
    if (work.watching) leaveRound(turn);
    return;
  }
  if (expire(turn) || failUnordered(turn)) return;
  if (!work.watching) {
    work.watching = true;
    turn.effects.push(
      { kind: 'send', to: clusterAddress, message: { kind: 'watch' } },
      { kind: 'startTimer', name: 'quorum', afterMs: turn.config.nodesWaitMs },
      { kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs },
    );
  }
  if (work.attempt) {
    takeOffers(turn, work.attempt);
    takeKept(turn, work.attempt);
    if (turn.persisted) return;
    settle(turn, work.attempt);
    if (turn.persisted) return;
    if (!isBusy(work)) {
      leaveRound(turn);
      return;
    }
    if (mustRedraw(turn, work.attempt) || mustRedrawForPreview(turn, work.attempt)) giveUpAttempt(work);
  }
  if (work.attempt) ask(turn, work.attempt);
  else requestDraw(turn);
}

/** FROST: somebody outside the set is wanted, or somebody inside cannot be waited for while enough others are there. */
function mustRedraw(turn: Turn, attempt: Attempt): boolean {
  if (!bindsSigners(attempt)) return false;
  const { work } = turn.state;
  const healthy = healthyNodes(turn.state);
  for (const id of work.steps.keys()) if (!isSigner(attempt, id) && healthy.includes(id)) return true;
  if (work.gathers.length === 0 || healthy.length < work.key!.threshold) return false;
  return attempt.nonces.some(({ nodeId }) => !attempt.partials.has(nodeId) && !healthy.includes(nodeId));
}

function ask(turn: Turn, attempt: Attempt): void {
  const { work, record } = turn.state;
  const healthy = healthyNodes(turn.state);
  const mayAsk = (id: number) =>
    healthy.includes(id) && !attempt.partials.has(id) && (!bindsSigners(attempt) || isSigner(attempt, id));
  const wanted = new Set([...work.steps.keys(), ...work.askAgain].filter((id) => mayAsk(id) && !attempt.asked.has(id)));
  if (work.gathers.length > 0) {
    const signers = attempt.nonces.map(({ nodeId }) => nodeId);
    let expected = attempt.partials.size + wanted.size + [...attempt.asked].filter(mayAsk).length;
    for (const id of [...signers, ...healthy.filter((other) => !signers.includes(other))]) {
      if (expected >= work.key!.threshold) break;
      if (!mayAsk(id) || wanted.has(id) || attempt.asked.has(id)) continue;
      wanted.add(id);
      expected += 1;
    }
  }
  const looks = previewedNodes(work).filter((id) => mayAsk(id) && !wanted.has(id) && !attempt.asked.has(id));
  for (const id of looks) {
    attempt.aside.add(id);
    wanted.add(id);
  }
  if (wanted.size === 0) return;
  const about = { tenant: record.tenant, session: record.sessionId, attempt: attempt.number };
  for (const id of wanted) {
    attempt.asked.add(id);
    const value = partialRequest(work.task!, attempt, id, record.ceremony);
    turn.effects.push({ kind: 'send', to: nodeAddress(id), message: wire(about, { case: 'partialRequest', value }) });
  }
  turn.effects.push({ kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs });
}

/** Those who were asked have been silent for too long: others take their place, or, if there are none, they are asked anew. */
export function replaceSilent(turn: Turn): void {
  const { work } = turn.state;
  if (!isBusy(work) || !work.key) return;
  for (const id of work.attempt?.asked ?? []) {
    if (work.silent.has(id)) continue;
    work.silent.add(id);
    turn.effects.push(nodeFault(id, 'silent'));
  }
  failPreviewsOf(work, work.silent, (id) => `node ${id} did not answer within ${turn.config.partialTimeoutMs} ms`);
  redrawAgain(work);
  if (healthyNodes(turn.state).length < work.key.threshold) {
    work.silent.clear();
    work.attempt?.asked.clear();
    if (work.attempt && bindsSigners(work.attempt)) giveUpAttempt(work);
  }
  turn.effects.push({ kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs });
  pump(turn);
}

/**
 * Who is ready has changed. Nodes that another session found silent are not waited for, if enough others are there and
 * no call names them: this session may have drawn its nonces before that was known.
 */
export function nodesChanged(turn: Turn, ready: readonly number[], suspects: readonly number[]): void {
  const { work } = turn.state;
  if (!work.watching) {
    turn.effects.push({ kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } });
    return;
  }
  const before = work.ready;
  work.ready = new Set(ready);
  // Somebody who came back is not silent any more.
  for (const id of ready) if (before?.has(id) === false) work.silent.delete(id);
  for (const id of [...(work.attempt?.asked ?? [])]) if (!work.ready.has(id)) work.attempt?.asked.delete(id);
  if (before === undefined) passOver(turn, suspects);
  pump(turn);
}

function passOver(turn: Turn, suspects: readonly number[]): void {
  const { work } = turn.state;
  const others = healthyNodes(turn.state).filter((id) => !suspects.includes(id));
  if (others.length < work.key!.threshold || previewedNodes(work).length > 0) return;
  for (const id of suspects) if (!work.steps.has(id) && !work.attempt?.partials.has(id)) work.silent.add(id);
}

/** Refuses the calls in the round that name another nonce point than this attempt's. */
function refuseOtherNonces(turn: Turn, attempt: Attempt): void {
  const { work } = turn.state;
  const refuse = (call: SubmitCall): boolean => {
    const fault = noncePointFault(attempt, call);
    if (fault) reply(turn, call, fault);
    return fault !== undefined;
  };
  work.gathers.splice(0, work.gathers.length, ...work.gathers.filter((call) => !refuse(call)));
  work.offers.splice(0, work.offers.length, ...work.offers.filter(({ call }) => !refuse(call)));
  for (const [id, calls] of [...work.steps]) {
    const left = calls.filter((call) => !refuse(call));
    if (left.length > 0) work.steps.set(id, left);
    else work.steps.delete(id);
  }
}

/** What is wrong with a call's nonce point, if it gave one. */
export function noncePointFault(attempt: Attempt, { request }: SubmitCall) {
  const { ephemeralPublicKey } = request;
  if (ephemeralPublicKey.length === 0 || isNoncePoint(attempt, ephemeralPublicKey)) return undefined;
  return answer('INVALID_REQUEST', "ephemeral_public_key is not this attempt's nonce point R");
}
