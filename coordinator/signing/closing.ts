/** How a signing session leaves its round: completed, expired, or given up. Every call in the round is answered. */
import { participantsOf } from '../../crypto/participants.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { answer, sessionAnswer } from '../session/answers.ts';
import { advance } from '../session/record.ts';
import { isTerminal } from '../session/transitions.ts';
import { commit, isOverdue, reply } from '../session/turn.ts';
import { nodeList } from '../session/wording.ts';
import { orderRefusals } from './orders.ts';
import {
  isBusy,
  type LastingRefusal,
  leaveRound,
  roundCalls,
  type SigningSession,
  signatureResult,
  type Turn,
} from './state.ts';

/** The session goes on to another state. */
export function conclude(turn: Turn, record: SigningSession): void {
  const { work } = turn.state;
  const calls = roundCalls(work);
  const next = {
    ...work,
    gathers: [],
    steps: new Map(),
    offers: [],
    attempt: undefined,
    askAgain: new Set<number>(),
    voided: new Set<number>(),
  };
  commit(turn, record, next, { cause: calls[0] ?? work.inbox[0] });
  leaveRound(turn);
  for (const call of calls) reply(turn, call, sessionAnswer(record), signatureResult(record));
}

/** Ends a session whose lifetime is over; returns whether it did. Calls in the inbox are looked at after. */
export function expire(turn: Turn): boolean {
  const { record } = turn.state;
  if (turn.persisted || !isOverdue(record, turn.context.nowMs)) return false;
  conclude(turn, advance(record, { ...answer('SESSION_EXPIRED'), state: ReceiptState.EXPIRED }, turn.context));
  return true;
}

/**
 * Ends a session whose wallet was archived, or, with `clientsOnly`, became stricter, whatever it is at. One that has ended
 * already stays as it is.
 */
export function revoke(turn: Turn, clientsOnly: boolean): void {
  const { record } = turn.state;
  if (clientsOnly && record.ceremony.facts.walletService) return;
  if (expire(turn) || turn.persisted || isTerminal(record.state)) return;
  const happened = clientsOnly ? 'frozen, or asks for more than when it began' : 'archived';
  const text = `The session was revoked: its wallet was ${happened}.`;
  conclude(
    turn,
    advance(record, { ...answer('SESSION_REVOKED', text), state: ReceiptState.REVOKED as const }, turn.context),
  );
}

export const whyRefusing: Readonly<Record<LastingRefusal, string>> = {
  KEYSTORE_MISMATCH: 'cannot sign: the key is bound to another scheme there',
  INTENT_MESSAGE_CHANGED: 'cannot sign: something else was signed there for this transaction intent',
};

/** So many nodes refuse for good that no quorum is left: waiting does not help. `reason`: of the last of them. */
export function failRefused(turn: Turn, reason: LastingRefusal): void {
  const { work, record } = turn.state;
  const nodes = [...work.refusing].filter(([, why]) => why === reason).map(([id]) => id);
  const text = `${nodeList(nodes.sort((a, b) => a - b))} ${whyRefusing[reason]}; no quorum is left`;
  const failed = { ...answer(reason, text), state: ReceiptState.BACKEND_FAILED as const };
  conclude(turn, advance(record, failed, turn.context, { attempt: work.attempts, submitted: [], given: [] }));
}

/** So many nodes refused the order that the others are too few: to wait for them does not help. */
export function failUnordered(turn: Turn): boolean {
  const { work, record } = turn.state;
  if (work.gathers.length === 0 || work.key!.totalNodes - work.refusedOrder.size >= work.key!.threshold) return false;
  const text = `${orderRefusals(work)}; ${work.key!.threshold} of ${work.key!.totalNodes} nodes are needed`;
  const failed = { ...answer('ORDER_REFUSED', text), state: ReceiptState.BACKEND_FAILED as const };
  conclude(turn, advance(record, failed, turn.context, { attempt: work.attempts, submitted: [], given: [] }));
  return true;
}

/** The round's time is over. */
export function giveUp(turn: Turn): void {
  const { work, record } = turn.state;
  if (!isBusy(work) || !work.key || expire(turn)) return;
  const { threshold, totalNodes } = work.key;
  const holders = participantsOf(work.key);
  const waited = `within ${turn.config.nodesWaitMs} ms`;
  const mute = new Set([...work.silent, ...(work.attempt?.asked ?? [])]);
  const ready = [...(work.ready ?? [])].filter((id) => holders.includes(id) && !mute.has(id));
  const linked = [...mute].filter((id) => work.ready?.has(id));
  const silent = linked.length > 0 ? `, silent: ${nodeList(linked)}` : '';
  const here = ready.length > 0 ? `ready: ${nodeList(ready)}` : 'no node is ready';
  const excluded = record.ceremony.excluded.length > 0 ? `, excluded: ${nodeList(record.ceremony.excluded)}` : '';
  const refusals = orderRefusals(work);
  const refused = refusals === '' ? '' : `; ${refusals}`;
  const noQuorum = `no quorum ${waited}: ${threshold} of ${totalNodes} nodes are needed, ${here}${silent}${excluded}${refused}`;
  for (const preview of work.previews) preview.failed ??= answer('NODES_UNAVAILABLE', noQuorum);
  if (work.gathers.length > 0) {
    const failed = { ...answer('QUORUM_UNAVAILABLE', noQuorum), state: ReceiptState.BACKEND_FAILED as const };
    conclude(turn, advance(record, failed, turn.context, { attempt: work.attempts, submitted: [], given: [] }));
    return;
  }
  // Steps alone do not fail the session: others can still be asked.
  const away = [...work.steps.keys()];
  const text = away.length > 0 ? `${nodeList(away)} did not answer ${waited}` : noQuorum;
  for (const call of roundCalls(work)) {
    reply(turn, call, answer('NODES_UNAVAILABLE', `${text}; the session is unchanged`));
  }
  work.steps.clear();
  work.offers.length = 0;
  leaveRound(turn);
}
