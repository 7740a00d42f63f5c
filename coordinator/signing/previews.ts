/**
 * Partials that a sandbox's gateway reads without submitting them: a node's submission to this session if asked now.
 *
 * The session asks the node as usual, and stores its answer separately: it does not count, is not written, and stays
 * unverified, as a byzantine node made it. When a later call in the same attempt wants that node's partial, the stored one is
 * its answer, so that its nonce signs once. Real calls have priority: a preview abandons a FROST attempt to get its node only
 * while no other call waits.
 *
 * The actor answers previews in steps without a write, so that a refused write loses none.
 */
import { participantsOf } from '../../core/crypto/participants.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ownKeysOf } from '../../proto/key-schemes.ts';
import { answer, type CallAnswer, sessionAnswer } from '../contract/call-answer.ts';
import type { PreviewCall } from '../contract/messages.ts';
import { isOpen } from '../contract/transitions.ts';
import { noPreviewReply, type PreviewedPartial, previewReply } from '../session/inspection-replies.ts';
import { outsideOf } from '../session/message-text.ts';
import { errorEffect, unavailableEffect } from '../session/replies.ts';
import { callsWaitingMax, isOverdue, startIdle } from '../session/turn.ts';
import { bindsSigners, isSigner } from './attempt.ts';
import { readyNodes } from './nodes-seen.ts';
import { hasCalls } from './queue.ts';
import { attemptOf } from './round.ts';
import { answersAside, type Preview, withPreview } from './sandbox-work.ts';
import {
  healthyNodes,
  isBusy,
  keyFault,
  knownKey,
  leaveRound,
  type SigningSessionStep,
  type SigningWork,
} from './state.ts';

/** A new preview: it waits for its turn, or is refused if too many already wait. */
export function takeInPreview(turn: SigningSessionStep, call: PreviewCall): void {
  const { work } = turn.state;
  turn.effects.push(startIdle(turn.config));
  if (work.sandbox.previews.length >= callsWaitingMax(turn.config)) {
    const text = 'this session has too many calls waiting: repeat later';
    turn.effects.push(errorEffect(call, CallErrorCode.OVERLOADED, text));
    return;
  }
  work.sandbox = withPreview(work.sandbox, call);
}

/** Previewed nodes whose partial has not arrived, ascending. */
export function previewedNodes({ sandbox, round }: SigningWork): number[] {
  if (sandbox.previews.length === 0) return [];
  const attempt = attemptOf(round);
  const answers = answersAside(sandbox, attempt);
  const ids = sandbox.previews.filter(({ failed }) => failed === undefined).map(({ call }) => call.nodeId);
  return [...new Set(ids)].filter((id) => !answers.has(id) && !attempt?.partials.has(id)).sort((a, b) => a - b);
}

/** Whether a preview needs a node outside of FROST's signers, no call waits, and the next attempt can include it. */
export function mustRedrawForPreview(turn: SigningSessionStep): boolean {
  const { work } = turn.state;
  const attempt = attemptOf(work.round);
  if (!attempt || !bindsSigners(attempt) || hasCalls(work.queue)) return false;
  const healthy = healthyNodes(turn.state);
  const wanted = previewedNodes(work).filter((id) => healthy.includes(id));
  const isOutside = ({ call, redrew, failed }: Preview) =>
    failed === undefined && !redrew && wanted.includes(call.nodeId) && !isSigner(attempt, call.nodeId);
  if (!work.sandbox.previews.some(isOutside)) return false;
  // Nodes inside come first, unless one attempt can include all of them.
  if (wanted.length > knownKey(work).threshold && wanted.some((id) => isSigner(attempt, id))) return false;
  changePreviews(work, (preview) => (isOutside(preview) ? { ...preview, redrew: true } : preview));
  return true;
}

/** Nodes to draw besides the wanted ones: previewed nodes, the latest first, so that previews can show them again. */
export function preferredForPreviews(work: SigningWork): number[] {
  return [...previewedNodes(work), ...work.sandbox.previewed];
}

/** These nodes did not answer: the next step without a write tells the previews that wait for them. */
export function failPreviewsOf(
  turn: SigningSessionStep,
  nodeIds: ReadonlySet<number>,
  text: (nodeId: number) => string,
): void {
  const { work } = turn.state;
  const answers = answersAside(work.sandbox, attemptOf(work.round));
  failPreviews(turn, ({ call: { nodeId } }) =>
    nodeIds.has(nodeId) && !answers.has(nodeId) ? answer('NODES_UNAVAILABLE', text(nodeId)) : undefined,
  );
}

/** Previews that failed before retain their first reason. */
export function failPreviews(turn: SigningSessionStep, why: (preview: Preview) => CallAnswer | undefined): void {
  changePreviews(turn.state.work, (preview) => ({ ...preview, failed: preview.failed ?? why(preview) }));
}

/** Lets another attempt follow one that did not get a node. */
export function redrawAgain(turn: SigningSessionStep): void {
  changePreviews(turn.state.work, (preview) => ({ ...preview, redrew: false }));
}

function changePreviews(work: SigningSessionStep['state']['work'], change: (preview: Preview) => Preview): void {
  const { sandbox } = work;
  if (sandbox.previews.length > 0) work.sandbox = { ...sandbox, previews: sandbox.previews.map(change) };
}

/** Answers the previews that can be answered, in a step without a write. */
export function servePreviews(turn: SigningSessionStep): void {
  const { work } = turn.state;
  if (work.sandbox.previews.length === 0) return;
  const waiting: Preview[] = [];
  let { previewed } = work.sandbox;
  for (const preview of work.sandbox.previews) {
    const { call } = preview;
    const found = resultOf(turn, preview);
    if (found === undefined) {
      waiting.push(preview);
    } else if ('partial' in found) {
      const { tenant, sessionId } = turn.state.record;
      const fields = { tenant, session: sessionId, node: call.nodeId, attempt: found.attempt };
      previewed = [call.nodeId, ...previewed.filter((id) => id !== call.nodeId)];
      turn.effects.push(previewReply(call, found), {
        kind: 'emit',
        event: { type: 'signing.partial_previewed', level: 'info', fields },
      });
    } else {
      turn.effects.push(noPreviewReply(call, found));
    }
  }
  work.sandbox = { ...work.sandbox, previews: waiting, previewed };
  if (work.nodes.watch && !isBusy(work)) leaveRound(turn);
}

/** The partial, or the reason for none; undefined: still pending. */
function resultOf(turn: SigningSessionStep, { call, failed }: Preview): PreviewedPartial | CallAnswer | undefined {
  const { record, work } = turn.state;
  const { key, nodes } = work;
  const { nodeId } = call;
  if (!isOpen(record.state)) return sessionAnswer(record);
  // Only its own calls and the sweep write its end: a preview changes nothing.
  if (isOverdue(record, turn.context.nowMs)) return answer('SESSION_EXPIRED');
  if (key.kind === 'unread') return undefined;
  if (key.kind !== 'known') return keyFault(work, record.ceremony.facts.keyId);
  if (!participantsOf(key.record).includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node_id ${nodeId} is ${outsideOf(key.record)}`);
  }
  if (record.ceremony.excluded.includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node ${nodeId} is excluded from this session: its partial did not verify`);
  }
  // A preview would create it: a vendor's signature always counts.
  if (ownKeysOf(key.record.scheme) === 'vendor')
    return answer('INVALID_REQUEST', 'a vendor’s signature has no preview');
  const known = knownPartial(work, nodeId);
  if (known) return known;
  if (failed) return failed;
  const unable = nodes.unable.get(nodeId);
  if (unable?.kind === 'order') {
    return answer('ORDER_REFUSED', `node ${nodeId} refused the order of this session`);
  }
  if (unable) return answer('NODES_UNAVAILABLE', `node ${nodeId} cannot sign with this key`);
  if (readyNodes(nodes)?.has(nodeId) === false) return answer('NODES_UNAVAILABLE', `node ${nodeId} is unreachable`);
  if (nodes.silent.has(nodeId)) return answer('NODES_UNAVAILABLE', `node ${nodeId} does not answer`);
  return undefined;
}

/** The partial in this attempt: the node's, or the only one that verifies. */
function knownPartial({ round, sandbox }: SigningWork, nodeId: number): PreviewedPartial | undefined {
  const attempt = attemptOf(round);
  if (!attempt) return undefined;
  const counted = attempt.partials.get(nodeId);
  const partial = answersAside(sandbox, attempt).get(nodeId) ?? counted?.value;
  return partial && { partial, noncePoint: attempt.backend.noncePoint, attempt: attempt.number };
}

/** The store did not answer. */
export function failSandboxCalls({ sandbox: { previews, inspections } }: SigningWork) {
  return [...previews.map(({ call }) => call), ...inspections].map((call) => unavailableEffect(call));
}
