/** The end of a DKG session's round: completed, expired, or abandoned. It answers every waiting call. */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { answer, sessionAnswer } from '../contract/call-answer.ts';
import { nodeDkgAddress, wire } from '../contract/messages.ts';
import { advance, type KeyRecord } from '../contract/record.ts';
import { nodeList } from '../session/message-text.ts';
import { commit, isOverdue, type Persisted, reply } from '../session/turn.ts';
import { isComplete } from './own-shares.ts';
import { type DkgSession, type DkgSessionStep, leaveDkgRound, noDkgWork, nodeIds, sortedPairs } from './state.ts';

/** Moves the session to another state. */
export function finalizeDkg(
  turn: DkgSessionStep,
  record: DkgSession,
  more: { readonly key?: KeyRecord; readonly culprits?: readonly number[] } = {},
): Persisted {
  const { jobs, watching, inbox } = turn.state.work;
  const cause = jobs[0]?.call ?? inbox[0];
  const written = commit(turn, record, { ...noDkgWork(record, false), inbox, watching }, { ...more, cause });
  leaveDkgRound(turn);
  const verified = record.state === ReceiptState.BACKEND_COMPLETED;
  for (const job of jobs) reply(turn, job.call, sessionAnswer(record), { verified });
  return written;
}

/** Ends a session whose lifetime is over. Calls in the inbox are handled afterwards. */
export function expireDkg(turn: DkgSessionStep): Persisted | undefined {
  const { record } = turn.state;
  if (!isOverdue(record, turn.context.nowMs)) return undefined;
  const expired = { ...answer('SESSION_EXPIRED'), state: ReceiptState.EXPIRED as const };
  const written = finalizeDkg(turn, advance(record, expired, turn.context));
  discardAttempt(turn, record);
  return written;
}

/**
 * Abandons this attempt: its nodes delete the shares that they dealt and received, and store only the number of the attempt. An
 * unreachable node stores its record until a later attempt; a node whose key is final refuses.
 */
export function discardAttempt(turn: DkgSessionStep, record: DkgSession): void {
  const { tenant, sessionId: session, ceremony } = record;
  const about = { tenant, session, attempt: ceremony.attempt };
  for (const id of nodeIds(record)) {
    const to = nodeDkgAddress(id, tenant, session);
    turn.effects.push({ kind: 'send', to, message: wire(about, { case: 'dkgDiscard', value: {} }) });
  }
}

/** The wait for nodes is over. */
export function abandonDkg(turn: DkgSessionStep): Persisted | undefined {
  const { record, work } = turn.state;
  if (work.jobs.length === 0) return undefined;
  const expired = expireDkg(turn);
  if (expired) return expired;
  const asked = [...work.flights].map((flight) => Number(flight.split('/')[0]));
  const unready = nodeIds(record).filter((id) => work.ready?.has(id) === false && isWanted(turn, id));
  const missing = new Set([...asked, ...unready]);
  const waited = `within ${turn.config.nodesWaitMs} ms`;
  const text =
    missing.size > 0 ? `${nodeList(missing)} did not answer ${waited}` : `the round made no progress ${waited}`;
  if (work.jobs.every((job) => job.single) && !isComplete(record, work)) {
    const unchanged = answer('NODES_UNAVAILABLE', `${text}; the session is unchanged`);
    for (const job of work.jobs.splice(0)) reply(turn, job.call, unchanged);
    leaveDkgRound(turn);
    return undefined;
  }
  const failed = { ...answer('NODES_UNAVAILABLE', text), state: ReceiptState.BACKEND_FAILED as const };
  const stalledBy = [...missing].sort((a, b) => a - b);
  const changes = { verified: sortedPairs(work.verified), stalledBy };
  return finalizeDkg(turn, advance(record, failed, turn.context, changes));
}

function isWanted(turn: DkgSessionStep, id: number): boolean {
  const { work, record } = turn.state;
  if (isComplete(record, work)) return true;
  return work.jobs.some((job) => job.offer?.recipient === id || job.pairs.some((one) => one.includes(id)));
}
