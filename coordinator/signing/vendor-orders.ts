/**
 * A session whose key a vendor holds (MPC_VENDOR): its node has an order there, and the vendor decides at any later time.
 *
 * The node reports that the order is open: the session stays ACCEPTED (or RESUMED), lives as long as the order, and answers its
 * calls. Later the node reports the outcome (VendorSettled), and repeats that until the session acknowledges it: so the session
 * completes without a call, also from its record after a crash. A session that ends earlier cancels its order; a later session
 * of the intent gets the same order from its node until that is settled (nodes/vendor/order-actor.ts).
 */
import type { Address } from '../../core/actors/contract.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import type { VendorOrder, VendorSettled } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { vendorOrderLifetimeMaxMs } from '../../proto/limits.ts';
import { timestamp } from '../../proto/timestamps.ts';
import { answer } from '../contract/call-answer.ts';
import { type CoordinatorEffect, wire } from '../contract/messages.ts';
import { progress } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { keystoreFor, type SigningTask } from '../keystores/public.ts';
import { commit, type Persisted, reply } from '../session/turn.ts';
import { expire } from './finalize.ts';
import { orderEnded } from './node-refusals.ts';
import { completeWith, excludeNodes } from './partials.ts';
import { failPreviewsOf } from './previews.ts';
import { roundAnswered, roundCalls } from './queue.ts';
import { isAtVendor, knownKey, leaveRound, type SigningSessionStep } from './state.ts';

/** 32 hex digits: the node's name for an order. */
const referencePattern = /^[0-9a-f]{32}$/;

/** The vendor has the order of this session, and has not decided: answers every caller that waits for the signature. */
export function vendorOrderOpen(
  turn: SigningSessionStep,
  nodeId: number,
  { reference, expiresEpochMs }: VendorOrder,
): Persisted | undefined {
  const { work, record } = turn.state;
  if (!referencePattern.test(reference)) return undefined;
  const expiresMs = Math.min(Number(expiresEpochMs), turn.context.nowMs + vendorOrderLifetimeMaxMs);
  const text = `the vendor of node ${nodeId} has the order, until ${timestamp(expiresMs)}; the session completes by itself`;
  failPreviewsOf(turn, new Set([nodeId]), () => text);
  const calls = roundCalls(work.queue);
  work.queue = roundAnswered(work.queue);
  const known = record.ceremony.vendorOrder;
  const isKnown = known?.reference === reference && known.expiresMs === expiresMs;
  const changes = { vendorOrder: { nodeId, reference, expiresMs }, attempt: work.round.history.attempts };
  const written = isKnown ? undefined : commit(turn, { ...progress(record, turn.context, changes), expiresMs }, work);
  leaveRound(turn);
  const { state } = record;
  for (const call of calls) reply(turn, call, { ...answer('VENDOR_ORDER_OPEN', text), state });
  return written;
}

/** The vendor has decided. The session's key is known, unless the session has ended. */
export function vendorSettled(turn: SigningSessionStep, from: Address, said: VendorSettled): Persisted | undefined {
  const { work, record } = turn.state;
  let written: Persisted | undefined;
  if (isOpen(record.state)) {
    written = expire(turn);
    if (!written && !isOrderNode(turn, said.nodeId)) return undefined;
    written ??= takeOutcome(turn, work.task!, said);
  }
  turn.effects.push(vendorNoted(from, record.tenant, record.sessionId));
  return written;
}

/** Whether this node may have an order of the session at the vendor. */
function isOrderNode({ state: { work, record } }: SigningSessionStep, nodeId: number): boolean {
  if (!work.task || !isAtVendor(work)) return false;
  return participantsOf(knownKey(work)).includes(nodeId) && !record.ceremony.excluded.includes(nodeId);
}

function takeOutcome(
  turn: SigningSessionStep,
  task: SigningTask,
  { nodeId, outcome }: VendorSettled,
): Persisted | undefined {
  if (outcome.case === 'refusal') return orderEnded(turn, nodeId, outcome.value);
  if (outcome.case !== 'partial') return undefined;
  const partial = outcome.value.slice();
  const full = keystoreFor(task.scheme).open(task, []).aggregate([{ nodeId, partial }]);
  // Its node has verified it: a wrong one is the node's fault.
  return full ? completeWith(turn, full, { submitted: [nodeId], given: [] }) : excludeNodes(turn, [nodeId]);
}

/** Tells a node that the session acknowledges the outcome of its order, or has ended. */
export function vendorNoted(to: Address, tenant: string, session: string): CoordinatorEffect {
  return { kind: 'send', to, message: wire({ tenant, session }, { case: 'vendorNoted', value: {} }) };
}
