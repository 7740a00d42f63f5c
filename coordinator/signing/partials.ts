/**
 * Handles received partial signatures, from nodes, or from callers instead of a node; and adds them up. Silence is no evidence
 * of a fault. A node is named and excluded only if its own partial is wrong (by its verification share).
 * Wrong bytes from a caller fail the call, and blame no node.
 */
import type { PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import { nodeFault } from '../contract/messages.ts';
import { advance, isRepeat, progress, type SigningRecord } from '../contract/record.ts';
import type { FullSignature, SigningTask } from '../keystores/public.ts';
import { nodeList } from '../session/message-text.ts';
import { commit, type Persisted, reply } from '../session/turn.ts';
import { type Attempt, aggregate, bindsSigners, cameSlowly, isSigner, readPartial, verifyPartial } from './attempt.ts';
import { completeSession } from './finalize.ts';
import { nodeRefused } from './node-refusals.ts';
import { isAwaited, type Offer, withoutSteps, withStep } from './queue.ts';
import {
  askedOf,
  attemptAbandoned,
  attemptOf,
  partialsDropped,
  partialsIn,
  partialsOf,
  partialTaken,
  voidedTold,
} from './round.ts';
import { answeredAside, answersAside, isAskedAside } from './sandbox-work.ts';
import {
  healthyNodes,
  isBusy,
  isParticipant,
  knownKey,
  leaveRound,
  type SigningSessionStep,
  type SigningWork,
} from './state.ts';

/** Accepts callers' partials while the round needs partials. The call of an accepted one waits in `steps`. */
export function takeOffers(turn: SigningSessionStep): void {
  const { work } = turn.state;
  for (;;) {
    const attempt = attemptOf(work.round)!;
    const [offer] = work.queue.offers;
    if (!offer || attempt.partials.size >= knownKey(work).threshold) return;
    const { call, nodeId } = offer;
    work.queue = { ...work.queue, offers: work.queue.offers.slice(1) };
    if (isAwaited(work.queue, nodeId, call)) {
      work.queue = withStep(work.queue, nodeId, call);
      continue;
    }
    const taken = readOffer(work.task!, attempt, offer);
    if ('fault' in taken) {
      reply(turn, call, taken.fault);
      continue;
    }
    work.round = partialTaken(
      work.round,
      nodeId,
      { value: taken.value, origin: 'caller', verified: true },
      turn.context.nowMs,
    );
    work.queue = withStep(work.queue, nodeId, call, true);
  }
}

function readOffer(
  task: SigningTask,
  attempt: Attempt,
  { nodeId, partial }: Offer,
): { value: Uint8Array } | { fault: CallAnswer } {
  if (attempt.partials.has(nodeId)) return { fault: duplicateShare(nodeId) };
  if (bindsSigners(attempt) && !isSigner(attempt, nodeId)) {
    const signers = nodeList(attempt.nonces.map((nonce) => nonce.nodeId));
    const text = `partial_signature of node ${nodeId} cannot verify: attempt ${attempt.number} binds ${signers}`;
    return { fault: answer('INVALID_PARTIAL_SIGNATURE', text) };
  }
  const value = readPartial(task, partial);
  if (value !== undefined && verifyPartial(attempt, nodeId, value)) return { value };
  return { fault: answer('INVALID_PARTIAL_SIGNATURE', `partial_signature does not verify for node ${nodeId}`) };
}

export function duplicateShare(nodeId: number): CallAnswer {
  return answer('DUPLICATE_SHARE', `the partial signature of node ${nodeId} is already in`);
}

/** Whether a node's answer is to the present attempt, which awaits it. */
export function answersAttempt({ state }: SigningSessionStep, nodeId: number, { attemptTag }: PartialReply): boolean {
  const { task, round, sandbox } = state.work;
  const attempt = attemptOf(round);
  if (!attempt || !task || attemptTag !== attempt.tag || attempt.partials.has(nodeId)) return false;
  if (!isParticipant(state, nodeId) || (bindsSigners(attempt) && !isSigner(attempt, nodeId))) return false;
  // A second answer of this node: the first one counts, once a call wants it.
  return !answersAside(sandbox, attempt).has(nodeId);
}

/** Handles an answer to the attempt: the node's partial, or its refusal. */
export function takeAnswer(
  turn: SigningSessionStep,
  nodeId: number,
  { outcome, noncePoint }: PartialReply,
): Persisted | undefined {
  const { work } = turn.state;
  const attempt = attemptOf(work.round)!;
  const partial = outcome.case === 'partial' ? outcome.value : undefined;
  const isAside = isAskedAside(work.sandbox, attempt, nodeId);
  if (isAside) work.sandbox = answeredAside(work.sandbox, attempt, nodeId, partial);
  if (partial === undefined) {
    return nodeRefused(turn, attempt, nodeId, outcome.case === 'refusal' ? outcome.value : undefined);
  }
  return !isAside || isWanted(work, nodeId) ? count(turn, attempt, nodeId, partial, noncePoint) : undefined;
}

/** Whether a call wants this node's partial, and not only a preview of it. */
function isWanted({ queue, round }: SigningWork, nodeId: number): boolean {
  return queue.gathers.length > 0 || queue.steps.has(nodeId) || round.history.askAgain.has(nodeId);
}

/** Counts preview answers that a call wants by now, as if the node had just answered. */
export function usePreviewAnswers(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  const answers = answersAside(work.sandbox, attemptOf(work.round));
  for (const [nodeId, bytes] of [...answers].sort(([a], [b]) => a - b)) {
    const attempt = attemptOf(work.round)!;
    if (attempt.partials.size >= knownKey(work).threshold) break;
    if (attempt.partials.has(nodeId) || !isWanted(work, nodeId) || !isParticipant(turn.state, nodeId)) continue;
    const written = count(turn, attempt, nodeId, bytes);
    if (written) return written;
  }
  return undefined;
}

/** Counts a node's own partial, or excludes the node. */
function count(
  turn: SigningSessionStep,
  attempt: Attempt,
  nodeId: number,
  bytes: Uint8Array,
  noncePoint?: Uint8Array,
): Persisted | undefined {
  const { work } = turn.state;
  const task = work.task!;
  const value = readPartial(task, bytes);
  // A step checks its node's partial at once; a gathering checks the whole signature, and parts only if it fails.
  const verified = work.queue.steps.has(nodeId);
  if (value === undefined || (verified && !verifyPartial(attempt, nodeId, value))) return excludeNodes(turn, [nodeId]);
  const { nowMs } = turn.context;
  if (askedOf(work.round).size === 0 && cameSlowly(attempt, nowMs)) turn.effects.push(nodeFault(nodeId, 'slow'));
  const taken = { value, noncePoint: noncePoint?.slice(), origin: 'node', verified } as const;
  work.round = partialTaken(work.round, nodeId, taken, nowMs);
  return undefined;
}

/** Completes the signature from enough partials, or else answers the steps whose partial has arrived. */
export function acceptPartials(turn: SigningSessionStep): Persisted | undefined {
  const { work, record } = turn.state;
  const { steps } = work.queue;
  const { threshold } = knownKey(work);
  const attempt = attemptOf(work.round)!;
  if (attempt.partials.size >= threshold) return completeSignature(turn, attempt);
  const due = [...steps.keys()].filter((id) => attempt.partials.has(id));
  if (due.length === 0 || awaitsAgain(turn, attempt)) return undefined;
  const voided = [...work.round.history.voided].filter((id) => !attempt.partials.has(id));
  work.queue = withoutSteps(work.queue, due);
  work.round = voidedTold(work.round);
  const { submitted, given } = partialsOf(work.round);
  const answers = due.map((id) => steps.get(id)![0]!);
  const changes = { attempt: attempt.number, submitted, given };
  const written = commit(turn, progress(record, turn.context, changes), work, { answers });
  if (!isBusy(work)) leaveRound(turn);

  const count = `${attempt.partials.size} of ${threshold} (attempt ${attempt.number})`;
  const notice =
    voided.length > 0
      ? `; what was given for ${nodeList(voided)} is void, because it belongs to an earlier attempt: give it again`
      : '';
  for (const id of due) {
    const [first, ...rest] = steps.get(id)!;
    const text = `the partial of node ${id} is in: ${count}${notice}`;
    const accepted = { ...answer('SHARE_ACCEPTED', text), state: record.state };
    reply(turn, first!, accepted);
    for (const call of rest) reply(turn, call, isRepeat(turn.state.record, call) ? accepted : duplicateShare(id));
  }
  return written;
}

/** Also counts earlier partials that are requested again: the session answers steps when those have arrived again. */
function awaitsAgain(turn: SigningSessionStep, attempt: Attempt): boolean {
  const healthy = healthyNodes(turn.state);
  const mayAnswer = (id: number) => healthy.includes(id) && (!bindsSigners(attempt) || isSigner(attempt, id));
  return [...turn.state.work.round.history.askAgain].some(mayAnswer);
}

function completeSignature(turn: SigningSessionStep, attempt: Attempt): Persisted {
  const full = aggregate(attempt);
  if (full) return completeWith(turn, full, partialsIn(attempt));
  const culprits = [...attempt.partials]
    .filter(([id, { value, verified }]) => !verified && !verifyPartial(attempt, id, value))
    .map(([id]) => id);
  if (culprits.length === 0) throw new Error('a signature of right partials does not verify');
  return excludeNodes(turn, culprits);
}

/** The signature is verified: the session is complete. */
export function completeWith(
  turn: SigningSessionStep,
  full: FullSignature,
  { submitted, given }: Pick<SigningRecord, 'submitted' | 'given'>,
): Persisted {
  const { record, work } = turn.state;
  const text = `signature by ${nodeList(submitted)}, ${full.verified}`;
  const done = { ...answer('SIGNATURE_COMPLETED', text), state: ReceiptState.BACKEND_COMPLETED as const };
  const signature = Buffer.from(full.signature).toString('hex');
  const { attempts: attempt } = work.round.history;
  const { recoveryId } = full;
  return completeSession(
    turn,
    advance(record, done, turn.context, { attempt, submitted, given, signature, recoveryId }),
  );
}

/** Nodes whose own partial is wrong: named and excluded; the round continues without them. */
export function excludeNodes(turn: SigningSessionStep, culprits: readonly number[]): Persisted {
  const { work, record } = turn.state;
  const told = culprits.flatMap((id) => work.queue.steps.get(id) ?? []);
  work.queue = withoutSteps(work.queue, culprits);
  if (attemptOf(work.round)) work.round = partialsDropped(work.round, culprits);
  const attempt = attemptOf(work.round);
  if (attempt && bindsSigners(attempt)) work.round = attemptAbandoned(work.round);
  const excluded = [...new Set([...record.ceremony.excluded, ...culprits])].sort((a, b) => a - b);
  const changes = { attempt: work.round.history.attempts, excluded, ...partialsOf(work.round) };
  const sorted = [...culprits].sort((a, b) => a - b);
  const written = commit(turn, progress(record, turn.context, changes), work, { culprits: sorted });
  for (const id of culprits) turn.effects.push(nodeFault(id, 'bad_partial'));
  if (!isBusy(work)) leaveRound(turn);
  const text = `the partial that ${nodeList(culprits)} made does not verify; excluded from this session`;
  for (const call of told) reply(turn, call, answer('INVALID_PARTIAL_SIGNATURE', text));
  return written;
}
