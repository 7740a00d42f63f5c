/**
 * Chooses the nodes of a DKG with fewer nodes than the cluster has, and reports silent ones to the cluster, whose draws select
 * them last.
 *
 * A session begins with the nodes 1 to n. The next attempt omits a node that stopped the last one. A whole round also omits
 * unreachable and silent nodes, as soon as enough others are ready, until the first verified pair was acknowledged, and again
 * after the resume of a failed round; and from the beginning those that are suspected, as far as others can replace them. Another
 * set of nodes needs another attempt, since every signature of the nodes covers the participants.
 *
 * Nodes are never replaced once a key may be final; nor while a client supplies a dealer, since its shares are for these nodes;
 * nor in a round that names nodes; nor in a refresh, whose nodes are its key's; nor for the ready-made keys of a sandbox, which
 * nodes 1 to n deal from their seed.
 */
import { nodeFault } from '../contract/messages.ts';
import { progress } from '../contract/record.ts';
import { commit, type Persisted } from '../session/turn.ts';
import { discardAttempt } from './finalize.ts';
import { type DkgSession, type DkgSessionStep, type Job, noDkgWork, nodeIds } from './state.ts';

/** Repetitions after which a node without an answer counts as silent: it had a whole timeout. */
const silentAfter = 2;

/** Counts the repetitions that each node left unanswered, and reports a node that is silent now. */
export function noteSilence(turn: DkgSessionStep): void {
  const { flights, silence } = turn.state.work;
  const owing = new Set([...flights].map((flight) => Number(flight.split('/')[0])));
  for (const id of silence.keys()) if (!owing.has(id)) silence.delete(id);
  for (const id of owing) {
    silence.set(id, (silence.get(id) ?? 0) + 1);
    if (silence.get(id) === silentAfter) turn.effects.push(nodeFault(id, 'silent'));
  }
}

/** Counts a node as silent at once, unless fewer than a threshold would be left. Returns whether it does. */
export function countAsSilent(turn: DkgSessionStep, nodeId: number): boolean {
  const { record, work } = turn.state;
  const left = nodeIds(record).filter((id) => id !== nodeId && !isMissing(turn, id));
  if (left.length < record.ceremony.threshold) return false;
  if ((work.silence.get(nodeId) ?? 0) < silentAfter) turn.effects.push(nodeFault(nodeId, 'silent'));
  work.silence.set(nodeId, silentAfter);
  return true;
}

/** Whether the round waits for this node no longer. */
export function isMissing({ state: { work } }: DkgSessionStep, id: number): boolean {
  return work.ready?.has(id) === false || (work.silence.get(id) ?? 0) >= silentAfter;
}

/** Begins another attempt without unreachable and silent nodes, if others can replace them all. */
export function replaceMissing(turn: DkgSessionStep): Persisted | undefined {
  const missing = nodeIds(turn.state.record).filter((id) => isMissing(turn, id));
  return missing.length <= replacements(turn, missing).length ? replace(turn, missing) : undefined;
}

/** Begins another attempt without nodes that are known to stall, as many as others can replace. */
export function replaceSuspects(turn: DkgSessionStep): Persisted | undefined {
  const { record, work } = turn.state;
  const doubtful = nodeIds(record).filter((id) => work.suspects.includes(id));
  return replace(turn, doubtful.slice(0, replacements(turn, doubtful).length));
}

/** Ready nodes outside the attempt, of which nothing bad is known. */
function replacements(turn: DkgSessionStep, missing: readonly number[]): number[] {
  const { record, work } = turn.state;
  const leftOut = union(record.ceremony.leftOut, [...missing, ...work.suspects]);
  return rosterIds(turn).filter(
    (id) => work.ready?.has(id) === true && !nodeIds(record).includes(id) && !leftOut.includes(id),
  );
}

function replace(turn: DkgSessionStep, missing: readonly number[]): Persisted | undefined {
  const { record, work } = turn.state;
  const { ceremony } = record;
  if (missing.length === 0 || work.ready === undefined || !mayReplace(turn, record)) return undefined;
  // No client has the result yet, so it may be recomputed.
  if (ceremony.verified.length > 0 && (ceremony.stalledBy ?? []).length === 0) return undefined;
  if (work.jobs.length === 0 || !work.jobs.every(namesNoNode)) return undefined;
  const { ready } = work;
  const ids = nodeIds(record);
  const leftOut = union(ceremony.leftOut, missing);
  const others = replacements(turn, missing);
  discardAttempt(turn, record);
  const participants = ascending([...ids.filter((id) => !missing.includes(id)), ...others.slice(0, missing.length)]);
  const changes = { attempt: ceremony.attempt + 1, participants, leftOut, verified: [], stalledBy: [] };
  const next = progress(record, turn.context, changes);
  const pairs = participants.flatMap((dealer) => participants.map((recipient) => [dealer, recipient] as const));
  const jobs = work.jobs.map((job) => ({ ...job, pairs }));
  return commit(turn, next, {
    ...noDkgWork(next, true),
    jobs,
    inbox: work.inbox,
    watching: work.watching,
    ready,
    suspects: work.suspects,
  });
}

/** The nodes of the attempt after one that these nodes stopped; the same nodes where none may or can be replaced. */
export function nodesAfter(
  turn: DkgSessionStep,
  stoppedBy: readonly number[],
): Pick<DkgSession['ceremony'], 'participants' | 'leftOut'> {
  const { record, work } = turn.state;
  const { ceremony } = record;
  const ids = nodeIds(record);
  const leftOut = union(ceremony.leftOut, stoppedBy);
  if (!mayReplace(turn, record)) return { participants: ids, leftOut };
  const others = rosterIds(turn).filter(
    (id) => !ids.includes(id) && !leftOut.includes(id) && work.ready?.has(id) !== false,
  );
  const gone = ids.filter((id) => stoppedBy.includes(id)).slice(0, others.length);
  const participants = ascending([...ids.filter((id) => !gone.includes(id)), ...others.slice(0, gone.length)]);
  return { participants, leftOut };
}

function mayReplace({ config }: DkgSessionStep, { tenant, sessionId, ceremony }: DkgSession): boolean {
  if (ceremony.refreshes || ceremony.mayBeFinal || Object.keys(ceremony.played).length > 0) return false;
  if (ceremony.totalNodes >= config.roster.nodes.length) return false;
  return !(config.readyMade?.tenant === tenant && config.readyMade.sessions.includes(sessionId));
}

function namesNoNode({ call }: Job): boolean {
  return call.request.senderNodeId === 0 && call.request.recipientNodeId === 0;
}

function rosterIds({ config }: DkgSessionStep): number[] {
  return ascending(config.roster.nodes.map(({ id }) => id));
}

function union(some: readonly number[] = [], more: readonly number[] = []): number[] {
  return ascending([...new Set([...some, ...more])]);
}

function ascending(ids: readonly number[]): number[] {
  return [...ids].sort((a, b) => a - b);
}
