/** The end of a signing session's round: completed, failed, expired, or revoked. It answers every call in the round. */
import { participantsOf } from '../../core/crypto/participants.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { answer, type CallAnswer, sessionAnswer } from '../contract/call-answer.ts';
import { vendorOrderAddress, wire } from '../contract/messages.ts';
import { advance } from '../contract/record.ts';
import { isTerminal } from '../contract/transitions.ts';
import { nodeList } from '../session/message-text.ts';
import { commit, isOverdue, type Persisted, reply } from '../session/turn.ts';
import {
  keylessNodes,
  type LastingRefusal,
  orderRefusers,
  readyNodes,
  refusersFor,
  type TokenFault,
} from './nodes-seen.ts';
import { orderRefusals } from './order-relay.ts';
import { failPreviews } from './previews.ts';
import { roundAnswered, roundCalls } from './queue.ts';
import { askedOf, roundEnded } from './round.ts';
import {
  isBusy,
  knownKey,
  leaveNodes,
  leaveRound,
  type SigningSession,
  type SigningSessionStep,
  signatureResult,
} from './state.ts';

/** Moves the session to a state that is not open, which ends the round. */
export function completeSession(turn: SigningSessionStep, record: SigningSession): Persisted {
  const { work } = turn.state;
  const { queue } = work;
  const calls = roundCalls(queue);
  work.queue = roundAnswered(queue);
  // A call that a failure ends is made anew after a resume.
  const answers = record.state === ReceiptState.BACKEND_COMPLETED ? calls : [];
  const written = commit(turn, record, work, { cause: calls[0] ?? queue.inbox[0], answers });
  cancelOrder(turn, record);
  leaveNodes(turn);
  work.round = roundEnded(work.round);
  for (const call of calls) reply(turn, call, sessionAnswer(record), signatureResult(record));
  return written;
}

/** Cancels the vendor's order of an ended session. Best effort: a signature that still arrives is not released. */
function cancelOrder(
  { effects }: SigningSessionStep,
  { tenant, sessionId, state, ceremony: { vendorOrder } }: SigningSession,
): void {
  if (!vendorOrder || (state !== ReceiptState.REVOKED && state !== ReceiptState.EXPIRED)) return;
  const to = vendorOrderAddress(vendorOrder.nodeId, tenant, vendorOrder.reference);
  const message = wire({ tenant, session: sessionId }, { case: 'vendorCancel', value: {} });
  effects.push({ kind: 'send', to, message });
}

/** Ends a session whose lifetime is over. Calls in the inbox are handled after it. */
export function expire(turn: SigningSessionStep): Persisted | undefined {
  return isOverdue(turn.state.record, turn.context.nowMs) ? endLifetime(turn) : undefined;
}

/** The lifetime of the session, or of its order at the vendor, is over. */
export function endLifetime(turn: SigningSessionStep): Persisted {
  const expired = { ...answer('SESSION_EXPIRED'), state: ReceiptState.EXPIRED as const };
  return completeSession(turn, advance(turn.state.record, expired, turn.context));
}

/**
 * Ends a session whose wallet was archived, or, with `clientsOnly`, became stricter, in whatever state. An ended session does
 * not change.
 */
export function revoke(turn: SigningSessionStep, clientsOnly: boolean): Persisted | undefined {
  const { record } = turn.state;
  if (clientsOnly && record.ceremony.facts.walletService) return undefined;
  if (isTerminal(record.state)) return undefined;
  const happened = clientsOnly ? 'frozen, or asks for more than when it began' : 'archived';
  const text = `The session was revoked: its wallet was ${happened}.`;
  const revoked = { ...answer('SESSION_REVOKED', text), state: ReceiptState.REVOKED as const };
  return expire(turn) ?? completeSession(turn, advance(record, revoked, turn.context));
}

export const whyRefusing: Readonly<Record<LastingRefusal, string>> = {
  KEYSTORE_MISMATCH: 'cannot sign: the key is bound to another scheme there',
  INTENT_MESSAGE_CHANGED: 'cannot sign: something else was signed there for this transaction intent',
};

/** Too many nodes refuse permanently for a quorum: waiting does not help. `reason`: the last node's. */
export function failRefused(turn: SigningSessionStep, reason: LastingRefusal): Persisted {
  const nodes = refusersFor(turn.state.work.nodes, reason);
  return failSession(turn, answer(reason, `${nodeList(nodes)} ${whyRefusing[reason]}; no quorum is left`));
}

/** The key's token did not sign, and no other node has the key. */
export function failToken(turn: SigningSessionStep, nodeId: number, reason: TokenFault, message: string): Persisted {
  return failSession(turn, answer(reason, `node ${nodeId}: ${message}`));
}

/** Too many nodes refused the order for a quorum: waiting does not help. */
export function failUnordered(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  if (work.queue.gathers.length === 0 || work.nodes.unable.size === 0) return undefined;
  const { threshold, totalNodes } = knownKey(work);
  if (totalNodes - orderRefusers(work.nodes).size >= threshold) return undefined;
  const text = `${orderRefusals(work.nodes)}; ${threshold} of ${totalNodes} nodes are needed`;
  return failSession(turn, answer('ORDER_REFUSED', text));
}

function failSession(turn: SigningSessionStep, why: CallAnswer): Persisted {
  const { work, record } = turn.state;
  const failed = { ...why, state: ReceiptState.BACKEND_FAILED as const };
  const changes = { attempt: work.round.history.attempts, submitted: [], given: [] };
  return completeSession(turn, advance(record, failed, turn.context, changes));
}

/** The round's time is over. */
export function abandonRound(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  if (!isBusy(work) || work.key.kind !== 'known') return undefined;
  const expired = expire(turn);
  if (expired) return expired;
  const noQuorum = quorumText(turn);
  failPreviews(turn, () => answer('NODES_UNAVAILABLE', noQuorum));
  if (work.queue.gathers.length > 0) return failSession(turn, answer('QUORUM_UNAVAILABLE', noQuorum));
  // Steps by themselves do not fail the session, since callers can still ask other nodes.
  const unreachable = [...work.queue.steps.keys()];
  const waited = `within ${turn.config.nodesWaitMs} ms`;
  const text = unreachable.length > 0 ? `${nodeList(unreachable)} did not answer ${waited}` : noQuorum;
  for (const call of roundCalls(work.queue)) {
    reply(turn, call, answer('NODES_UNAVAILABLE', `${text}; the session is unchanged`));
  }
  work.queue = roundAnswered(work.queue);
  leaveRound(turn);
  return undefined;
}

/** The known reason for the missing quorum. */
function quorumText(turn: SigningSessionStep): string {
  const { work, record } = turn.state;
  const { nodes, round } = work;
  const key = knownKey(work);
  const holders = participantsOf(key);
  const keyless = keylessNodes(nodes);
  const mute = new Set([...nodes.silent, ...askedOf(round), ...keyless]);
  const ready = [...(readyNodes(nodes) ?? [])].filter((id) => holders.includes(id) && !mute.has(id));
  const linked = [...mute].filter((id) => readyNodes(nodes)?.has(id) && !keyless.includes(id));
  const silent = linked.length > 0 ? `, silent: ${nodeList(linked)}` : '';
  const here = ready.length > 0 ? `ready: ${nodeList(ready)}` : 'no node is ready';
  const excluded = record.ceremony.excluded.length > 0 ? `, excluded: ${nodeList(record.ceremony.excluded)}` : '';
  const lost = keyless.length > 0 ? `, without the key: ${nodeList(keyless)}` : '';
  const refusals = orderRefusals(nodes);
  const refused = refusals === '' ? '' : `; ${refusals}`;
  const needed = `${key.threshold} of ${key.totalNodes} nodes are needed`;
  return `no quorum within ${turn.config.nodesWaitMs} ms: ${needed}, ${here}${silent}${lost}${excluded}${refused}`;
}
