/**
 * Partials that a sandbox's gateway wants to see and does not submit: what a node would submit to this session now.
 *
 * The node is asked like any other, and its answer is kept aside: it does not count, is not written, and stays unverified,
 * as a byzantine node made it. When a later call in the same attempt wants that node's partial, the kept one is its
 * answer, so that its nonce signs once. A preview yields to real calls: a FROST attempt makes way for one with its node
 * only while nobody else waits.
 *
 * Previews are answered in steps without a write, so that a refused write loses none.
 */
import { participantsOf } from '../../crypto/participants.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { PreviewCall } from '../messages.ts';
import { type Answer, answer, sessionAnswer } from '../session/answers.ts';
import { noPreviewReply, type PreviewedPartial, previewReply } from '../session/inspection.ts';
import { errorEffect, unavailableEffect } from '../session/replies.ts';
import { isOpen } from '../session/transitions.ts';
import { callsWaitingMax, idleMs, isOverdue } from '../session/turn.ts';
import { outsideOf } from '../session/wording.ts';
import { type Attempt, bindsSigners, isSigner, noncePointOf, writePartial } from './attempt.ts';
import { hasCalls, healthyNodes, isBusy, keyFault, leaveRound, type Preview, type Turn, type Work } from './state.ts';

/** A preview came in: kept for its turn, or refused when too many wait already. */
export function takeInPreview(turn: Turn, call: PreviewCall): void {
  const { work } = turn.state;
  turn.effects.push({ kind: 'startTimer', name: 'idle', afterMs: idleMs });
  if (work.previews.length >= callsWaitingMax) {
    const text = 'this session has too many calls waiting: repeat later';
    turn.effects.push(errorEffect(call, CallErrorCode.OVERLOADED, text));
    return;
  }
  work.previews = [...work.previews, { call, failed: undefined, redrew: false }];
}

/** Nodes whose partial somebody wants to see and nobody has, ascending. */
export function previewedNodes({ previews, attempt }: Work): number[] {
  const ids = previews.filter(({ failed }) => failed === undefined).map(({ call }) => call.nodeId);
  return [...new Set(ids)].filter((id) => !attempt?.kept.has(id) && !attempt?.partials.has(id)).sort((a, b) => a - b);
}

/** A node outside of FROST's signers is to be seen, nobody else waits, and the next attempt can have it. */
export function mustRedrawForPreview(turn: Turn, attempt: Attempt): boolean {
  const { work } = turn.state;
  if (!bindsSigners(attempt) || hasCalls(work)) return false;
  const healthy = healthyNodes(turn.state);
  const wanted = previewedNodes(work).filter((id) => healthy.includes(id));
  const isOutside = ({ call, redrew, failed }: Preview) =>
    failed === undefined && !redrew && wanted.includes(call.nodeId) && !isSigner(attempt, call.nodeId);
  const outside = work.previews.filter(isOutside);
  if (outside.length === 0) return false;
  // Those inside are seen first, unless one attempt can have all of them.
  if (wanted.length > work.key!.threshold && wanted.some((id) => isSigner(attempt, id))) return false;
  for (const preview of outside) preview.redrew = true;
  return true;
}

/** Whom to draw besides those whose partial is wanted: previewed nodes, the latest first, so that they can be seen again. */
export function preferredForPreviews(work: Work): number[] {
  return [...previewedNodes(work), ...work.previewed];
}

/** These did not answer: who waits to see their partial is told so in the next step without a write. */
export function failPreviewsOf(work: Work, nodeIds: ReadonlySet<number>, text: (nodeId: number) => string): void {
  for (const preview of work.previews) {
    const { nodeId } = preview.call;
    if (!nodeIds.has(nodeId) || work.attempt?.kept.has(nodeId)) continue;
    preview.failed ??= answer('NODES_UNAVAILABLE', text(nodeId));
  }
}

/** An attempt that did not get a node may be followed by one that does. */
export function redrawAgain(work: Work): void {
  for (const preview of work.previews) preview.redrew = false;
}

/** Answers the previews that can be answered, unless the step has a write. */
export function servePreviews(turn: Turn): void {
  const { work } = turn.state;
  if (turn.persisted || work.previews.length === 0) return;
  const waiting: Preview[] = [];
  for (const preview of work.previews) {
    const { call } = preview;
    const found = lookUp(turn, preview);
    if (found === undefined) {
      waiting.push(preview);
    } else if ('partial' in found) {
      const { tenant, sessionId } = turn.state.record;
      const fields = { tenant, session: sessionId, node: call.nodeId, attempt: found.attempt };
      work.previewed = [call.nodeId, ...work.previewed.filter((id) => id !== call.nodeId)];
      turn.effects.push(previewReply(call, found), {
        kind: 'emit',
        event: { type: 'signing.partial_previewed', level: 'info', fields },
      });
    } else {
      turn.effects.push(noPreviewReply(call, found));
    }
  }
  work.previews = waiting;
  if (work.watching && !isBusy(work)) leaveRound(turn);
}

/** The partial, or why there is none; undefined: it is on its way. */
function lookUp(turn: Turn, { call, failed }: Preview): PreviewedPartial | Answer | undefined {
  const { record, work } = turn.state;
  const { nodeId } = call;
  if (!isOpen(record.state)) return sessionAnswer(record);
  // Its end is for its own calls and the sweep to write: to look changes nothing.
  if (isOverdue(record, turn.context.nowMs)) return answer('SESSION_EXPIRED');
  if (work.key === undefined) return undefined;
  if (work.key === null) return keyFault(work, record.ceremony.facts.keyId);
  if (!participantsOf(work.key).includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node_id ${nodeId} is ${outsideOf(work.key)}`);
  }
  if (record.ceremony.excluded.includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node ${nodeId} is excluded from this session: its partial did not verify`);
  }
  const partial = knownPartial(work, nodeId);
  if (partial && work.attempt) {
    return { partial, noncePoint: noncePointOf(work.attempt), attempt: work.attempt.number };
  }
  if (failed) return failed;
  if (work.refusedOrder.has(nodeId)) return answer('ORDER_REFUSED', `node ${nodeId} refused the order of this session`);
  if (work.unable.has(nodeId)) return answer('NODES_UNAVAILABLE', `node ${nodeId} cannot sign with this key`);
  if (work.ready?.has(nodeId) === false) return answer('NODES_UNAVAILABLE', `node ${nodeId} is away`);
  if (work.silent.has(nodeId)) return answer('NODES_UNAVAILABLE', `node ${nodeId} does not answer`);
  return undefined;
}

/** In this attempt: as the node gave it, or the only one that verifies. */
function knownPartial({ attempt, task }: Work, nodeId: number): Uint8Array | undefined {
  const kept = attempt?.kept.get(nodeId);
  const counted = attempt?.partials.get(nodeId);
  return kept ?? (counted && task && writePartial(task, counted.value));
}

/** The store did not answer. */
export function failLooks({ previews, inspections }: Work) {
  return [...previews.map(({ call }) => call), ...inspections].map((call) => unavailableEffect(call));
}
