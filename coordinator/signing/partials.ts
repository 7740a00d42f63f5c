/**
 * Partial signatures as they come in: from nodes, or from callers in a node's place; and what they add up to.
 *
 * Silence is never called cheating. A node whose own partial is wrong (by its verification share) is named and excluded.
 * A caller's bytes blame the call, never a node.
 */
import { PartialRefusalCode, type PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { clusterAddress, nodeFault } from '../messages.ts';
import { type Answer, answer } from '../session/answers.ts';
import { advance, progress } from '../session/record.ts';
import { commit, reply } from '../session/turn.ts';
import { nodeList } from '../session/wording.ts';
import {
  type Attempt,
  aggregate,
  bindsSigners,
  isSigner,
  readPartial,
  type SigningTask,
  verifyPartial,
} from './attempt.ts';
import { conclude, failRefused, whyRefusing } from './closing.ts';
import { isOrderRefusal } from './orders.ts';
import {
  healthyNodes,
  isBusy,
  type LastingRefusal,
  leaveRound,
  type Offer,
  partialsOf,
  participants,
  type Turn,
  type Work,
} from './state.ts';

/** A node that forgot this many nonces in one session is left alone in it. */
const forgottenMax = 2;
/** What a node refuses for good, by what it knows itself. */
const lastingRefusals: ReadonlyMap<PartialRefusalCode, LastingRefusal> = new Map([
  [PartialRefusalCode.KEYSTORE_MISMATCH, 'KEYSTORE_MISMATCH'],
  [PartialRefusalCode.INTENT_MESSAGE_CHANGED, 'INTENT_MESSAGE_CHANGED'],
]);
/** What of a node's own words goes into an event. */
const quotedCharsMax = 200;

/** Looks at the partials that callers gave, as long as partials are wanted. An accepted one waits in `steps`. */
export function takeOffers(turn: Turn, attempt: Attempt): void {
  const { work } = turn.state;
  while (attempt.partials.size < work.key!.threshold) {
    const offer = work.offers.shift();
    if (!offer) return;
    const { call, nodeId } = offer;
    const taken = readOffer(work.task!, attempt, offer);
    if ('fault' in taken) {
      reply(turn, call, taken.fault);
      continue;
    }
    attempt.partials.set(nodeId, { value: taken.value, origin: 'caller', verified: true });
    attempt.asked.delete(nodeId);
    work.askAgain.delete(nodeId);
    work.voided.delete(nodeId);
    work.steps.set(nodeId, [call, ...(work.steps.get(nodeId) ?? [])]);
  }
}

function readOffer(
  task: SigningTask,
  attempt: Attempt,
  { nodeId, partial }: Offer,
): { value: bigint } | { fault: Answer } {
  if (attempt.partials.has(nodeId)) return { fault: duplicateShare(nodeId) };
  if (bindsSigners(attempt) && !isSigner(attempt, nodeId)) {
    const signers = nodeList(attempt.nonces.map((nonce) => nonce.nodeId));
    const text = `partial_signature of node ${nodeId} cannot verify: attempt ${attempt.number} binds ${signers}`;
    return { fault: answer('INVALID_PARTIAL_SIGNATURE', text) };
  }
  const value = readPartial(task, partial);
  if (value !== undefined && verifyPartial(task, attempt, nodeId, value)) return { value };
  return { fault: answer('INVALID_PARTIAL_SIGNATURE', `partial_signature does not verify for node ${nodeId}`) };
}

export function duplicateShare(nodeId: number): Answer {
  return answer('DUPLICATE_SHARE', `the partial signature of node ${nodeId} is already in`);
}

/** A node answered. Anything that is not of this attempt, or not from one of its nodes, is ignored. */
export function partialReply(turn: Turn, nodeId: number, said: PartialReply): void {
  const { work } = turn.state;
  const { attempt, task } = work;
  if (!attempt || !task || said.attemptTag !== attempt.tag || attempt.partials.has(nodeId)) return;
  if (!participants(turn.state).includes(nodeId) || (bindsSigners(attempt) && !isSigner(attempt, nodeId))) return;
  // A second word of it: the first one counts, once it is wanted.
  if (attempt.kept.has(nodeId)) return;
  attempt.asked.delete(nodeId);
  work.silent.delete(nodeId);
  const isAside = attempt.aside.delete(nodeId);
  if (said.outcome.case !== 'partial') {
    refused(turn, attempt, nodeId, said);
    return;
  }
  if (isAside) attempt.kept.set(nodeId, said.outcome.value);
  if (!isAside || isWanted(work, nodeId)) count(turn, attempt, task, nodeId, said.outcome.value);
}

/** A call wants this node's partial, not only to see it. */
function isWanted(work: Work, nodeId: number): boolean {
  return work.gathers.length > 0 || work.steps.has(nodeId) || work.askAgain.has(nodeId);
}

/** What was kept aside and is wanted by now counts as if the node had just answered. */
export function takeKept(turn: Turn, attempt: Attempt): void {
  const { work } = turn.state;
  for (const [nodeId, bytes] of [...attempt.kept].sort(([a], [b]) => a - b)) {
    if (turn.persisted || attempt.partials.size >= work.key!.threshold) return;
    if (attempt.partials.has(nodeId) || !isWanted(work, nodeId)) continue;
    if (participants(turn.state).includes(nodeId)) count(turn, attempt, work.task!, nodeId, bytes);
  }
}

/** A node's own partial is in, or its node is out. */
function count(turn: Turn, attempt: Attempt, task: SigningTask, nodeId: number, bytes: Uint8Array): void {
  const { work } = turn.state;
  const value = readPartial(task, bytes);
  // A step is told the truth about its node at once; a gathering checks the whole signature, and parts only if it fails.
  const checked = work.steps.has(nodeId);
  if (value === undefined || (checked && !verifyPartial(task, attempt, nodeId, value))) {
    exclude(turn, [nodeId]);
    return;
  }
  attempt.partials.set(nodeId, { value, origin: 'node', verified: checked });
  work.askAgain.delete(nodeId);
}

function refused(turn: Turn, attempt: Attempt, nodeId: number, { outcome }: PartialReply): void {
  const { work, record } = turn.state;
  const refusal = outcome.case === 'refusal' ? outcome.value : undefined;
  const fields = {
    tenant: record.tenant,
    session: record.sessionId,
    node: nodeId,
    code: PartialRefusalCode[refusal?.code ?? 0] ?? '',
    message: (refusal?.message ?? '').slice(0, quotedCharsMax),
  };
  turn.effects.push({ kind: 'emit', event: { type: 'signing.node_refused', level: 'warn', fields } });

  const unknown = attempt.nonces.find((nonce) => nonce.nodeId === nodeId);
  if (refusal?.code === PartialRefusalCode.NONCE_UNKNOWN && unknown && work.task) {
    const { nodeBoot, number } = unknown;
    const { scheme } = work.task;
    turn.effects.push({
      kind: 'send',
      to: clusterAddress,
      message: { kind: 'nonceForgotten', scheme, nodeId, nodeBoot, number },
    });
  }
  const lasting = refusal && lastingRefusals.get(refusal.code);
  const times = (work.forgot.get(nodeId) ?? 0) + 1;
  const forgot = refusal?.code === PartialRefusalCode.NONCE_UNKNOWN && times <= forgottenMax;
  if (forgot) {
    work.forgot.set(nodeId, times);
  } else {
    const code = refusal?.code;
    const isOrder = isOrderRefusal(code);
    if (isOrder) work.refusedOrder.set(nodeId, PartialRefusalCode[code]!);
    work.unable.add(nodeId);
    work.askAgain.delete(nodeId);
    const why = lasting ? whyRefusing[lasting] : 'cannot sign with this key';
    const told = isOrder
      ? answer('ORDER_REFUSED', `node ${nodeId} refused the order of this session (${PartialRefusalCode[code]})`)
      : answer(lasting ?? 'NODES_UNAVAILABLE', `node ${nodeId} ${why}; the session is unchanged`);
    for (const call of work.steps.get(nodeId) ?? []) reply(turn, call, told);
    work.steps.delete(nodeId);
  }
  if (lasting) {
    work.refusing.set(nodeId, lasting);
    if (participants(turn.state).length < work.key!.threshold) {
      failRefused(turn, lasting);
      return;
    }
  }
  // A node that restarted since it dealt: FROST starts over, mock ECDSA does without its part in the nonce.
  if (bindsSigners(attempt)) giveUpAttempt(work);
  else if (forgot) attempt.nonceless.add(nodeId);
}

/** An attempt is over: its nonces are spent, nodes' partials are asked for again, callers' are void. */
export function giveUpAttempt(work: Work): void {
  for (const [id, { origin }] of work.attempt?.partials ?? []) {
    if (origin === 'node') work.askAgain.add(id);
    else work.voided.add(id);
  }
  work.attempt = undefined;
}

/** Completes the signature, or answers the steps whose partial is in. */
export function settle(turn: Turn, attempt: Attempt): void {
  const { work, record } = turn.state;
  const { threshold } = work.key!;
  if (attempt.partials.size >= threshold) {
    complete(turn, attempt);
    return;
  }
  const due = [...work.steps.keys()].filter((id) => attempt.partials.has(id));
  if (due.length === 0 || awaitsAgain(turn, attempt)) return;
  const steps = new Map(work.steps);
  for (const id of due) steps.delete(id);
  const next: Work = { ...work, steps, voided: new Set() };
  const { submitted, given } = partialsOf(next);
  commit(turn, progress(record, turn.context, { attempt: attempt.number, submitted, given }), next);
  if (!isBusy(next)) leaveRound(turn);

  const count = `${attempt.partials.size} of ${threshold} (attempt ${attempt.number})`;
  const voided = [...work.voided].filter((id) => !attempt.partials.has(id));
  const notice =
    voided.length > 0
      ? `; what was given for ${nodeList(voided)} is void, because it belongs to an earlier attempt: give it again`
      : '';
  for (const id of due) {
    const [first, ...rest] = work.steps.get(id)!;
    const text = `the partial of node ${id} is in: ${count}${notice}`;
    reply(turn, first!, { ...answer('SHARE_ACCEPTED', text), state: record.state });
    for (const call of rest) reply(turn, call, duplicateShare(id));
  }
}

/** Partials that were in once and are asked for again count, too: steps are answered when those are back. */
function awaitsAgain(turn: Turn, attempt: Attempt): boolean {
  const healthy = healthyNodes(turn.state);
  const mayAnswer = (id: number) => healthy.includes(id) && (!bindsSigners(attempt) || isSigner(attempt, id));
  return [...turn.state.work.askAgain].some(mayAnswer);
}

function complete(turn: Turn, attempt: Attempt): void {
  const { work, record } = turn.state;
  const task = work.task!;
  const full = aggregate(task, attempt);
  if (!full) {
    const culprits = [...attempt.partials]
      .filter(([id, { value, verified }]) => !verified && !verifyPartial(task, attempt, id, value))
      .map(([id]) => id);
    if (culprits.length === 0) throw new Error('a signature of right partials does not verify');
    exclude(turn, culprits);
    return;
  }
  const { submitted, given } = partialsOf({ attempt, askAgain: new Set() });
  const publicKey = Buffer.from(task.derived.publicKey).toString('hex');
  const text = `signature by ${nodeList(submitted)}, verified under the derived public key ${publicKey}`;
  const done = { ...answer('SIGNATURE_COMPLETED', text), state: ReceiptState.BACKEND_COMPLETED as const };
  const signature = Buffer.from(full.signature).toString('hex');
  const { number } = attempt;
  const { recoveryId } = full;
  conclude(
    turn,
    advance(record, done, turn.context, { attempt: number, order: undefined, submitted, given, signature, recoveryId }),
  );
}

/** Nodes whose own partial is wrong: named and excluded; the round goes on without them. */
function exclude(turn: Turn, culprits: readonly number[]): void {
  const { work, record } = turn.state;
  const steps = new Map(work.steps);
  const told = culprits.flatMap((id) => steps.get(id) ?? []);
  for (const id of culprits) {
    steps.delete(id);
    work.askAgain.delete(id);
    work.attempt?.partials.delete(id);
  }
  const next: Work = { ...work, steps };
  if (next.attempt && bindsSigners(next.attempt)) giveUpAttempt(next);
  const excluded = [...new Set([...record.ceremony.excluded, ...culprits])].sort((a, b) => a - b);
  const changes = { attempt: work.attempts, excluded, ...partialsOf(next) };
  commit(turn, progress(record, turn.context, changes), next, { culprits: [...culprits].sort((a, b) => a - b) });
  for (const id of culprits) turn.effects.push(nodeFault(id, 'bad_partial'));
  if (!isBusy(next)) leaveRound(turn);
  const text = `the partial that ${nodeList(culprits)} made does not verify; excluded from this session`;
  for (const call of told) reply(turn, call, answer('INVALID_PARTIAL_SIGNATURE', text));
}
