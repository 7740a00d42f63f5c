/**
 * The round: drawing nonces, asking nodes, and what becomes of their answers.
 *
 * Silence is never called cheating: a silent node is replaced by a healthy one. A node whose own partial is wrong (by
 * its verification share) is named and excluded. A caller's bytes blame the call, never a node.
 */
import { CryptoError } from '../../crypto/errors.ts';
import { PartialRefusalCode, type PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { clusterAddress, type DrawnNonce, nodeAddress, wire } from '../messages.ts';
import { type Answer, answer, sessionAnswer } from '../session/receipts.ts';
import { advance, progress } from '../session/record.ts';
import { isOpen } from '../session/transitions.ts';
import { nodeList } from '../session/wording.ts';
import {
  type Attempt,
  aggregate,
  bindsSigners,
  isSigner,
  openAttempt,
  partialRequest,
  readPartial,
  verifyPartial,
} from './attempt.ts';
import { commit, isBusy, leaveRound, participants, reply, signatureResult, type Turn, type Work } from './state.ts';

/** A node that forgot this many nonces in one session is left alone in it. */
const forgottenMax = 2;

/** Asks the cluster for the nonces of the next attempt, unless a draw is under way. */
export function requestDraw(turn: Turn): void {
  const { work, record } = turn.state;
  const { key, task } = work;
  if (!key || !task || work.drawing !== 0) return;
  const all = participants(record, work);
  const candidates = all.filter((id) => !work.silent.has(id) && (work.ready?.has(id) ?? true));
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
      candidates: candidates.length >= key.threshold ? candidates : all,
      preferred: [...new Set([...work.steps.keys(), ...work.askAgain])].filter((id) => all.includes(id)),
    },
  });
}

export function drawn(turn: Turn, ticket: number, nonces: readonly DrawnNonce[]): void {
  const { work } = turn.state;
  if (ticket !== work.drawing || !work.task) return;
  work.drawing = 0;
  work.attempts += 1;
  const tag = Buffer.from(turn.context.random(8)).readBigUInt64BE();
  try {
    work.attempt = openAttempt(work.task, work.attempts, nonces, turn.config.coordinatorBoot, tag);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    // Nonces that do not make a round: draw others.
    requestDraw(turn);
    return;
  }
  pump(turn);
}

/** Does whatever can be done now for the calls that wait. */
export function pump(turn: Turn): void {
  const { work, record } = turn.state;
  if (turn.persisted || !isOpen(record.state)) return;
  if (!isBusy(work)) {
    if (work.watching) leaveRound(turn);
    return;
  }
  if (!work.watching) {
    work.watching = true;
    turn.effects.push(
      { kind: 'send', to: clusterAddress, message: { kind: 'watch' } },
      { kind: 'startTimer', name: 'quorum', afterMs: turn.config.nodesWaitMs },
    );
  }
  if (!work.attempt) {
    requestDraw(turn);
    return;
  }
  takeOffer(turn, work.attempt);
  if (turn.persisted) return;
  if (bindsSigners(work.attempt) && mustRedraw(turn, work.attempt)) {
    abandonAttempt(turn);
    return;
  }
  ask(turn, work.attempt);
}

/** Looks at the partials that callers gave, until one of them changes the session. */
function takeOffer(turn: Turn, attempt: Attempt): void {
  const { work } = turn.state;
  while (work.offers.length > 0) {
    const { call, nodeId, partial } = work.offers[0]!;
    const value = readPartial(work.task!, partial);
    let fault: Answer | undefined;
    if (attempt.partials.has(nodeId))
      fault = answer('DUPLICATE_SHARE', `the partial signature of node ${nodeId} is already in`);
    else if (bindsSigners(attempt) && !isSigner(attempt, nodeId)) {
      const signers = nodeList(attempt.nonces.map((nonce) => nonce.nodeId));
      fault = answer(
        'INVALID_PARTIAL_SIGNATURE',
        `partial_signature of node ${nodeId} cannot verify: attempt ${attempt.number} binds ${signers}`,
      );
    } else if (value === undefined || !verifyPartial(work.task!, attempt, nodeId, value)) {
      fault = answer('INVALID_PARTIAL_SIGNATURE', `partial_signature does not verify for node ${nodeId}`);
    }
    if (!fault) {
      attempt.partials.set(nodeId, { value: value!, origin: 'caller', verified: true });
      attempt.asked.delete(nodeId);
      settle(turn, attempt, nodeId);
      return;
    }
    work.offers.shift();
    reply(turn, call, fault);
  }
}

/** FROST: somebody outside the set is wanted, or somebody inside cannot be waited for while others are there. */
function mustRedraw(turn: Turn, attempt: Attempt): boolean {
  const { work, record } = turn.state;
  const allowed = participants(record, work);
  const healthy = (id: number) => allowed.includes(id) && !work.silent.has(id) && (work.ready?.has(id) ?? true);
  for (const id of work.steps.keys()) if (!isSigner(attempt, id) && healthy(id)) return true;
  const missing = attempt.nonces.some(({ nodeId }) => !attempt.partials.has(nodeId) && !healthy(nodeId));
  return missing && allowed.filter(healthy).length >= work.key!.threshold;
}

/** Gives an attempt up: its nonces are spent, callers' partials are void, nodes' are asked for again. */
function abandonAttempt(turn: Turn): void {
  const { work } = turn.state;
  const { attempt } = work;
  if (attempt) {
    const partials = [...attempt.partials];
    const voided = partials.filter(([, { origin }]) => origin === 'caller').map(([id]) => id);
    for (const [id, { origin }] of partials) if (origin === 'node') work.askAgain.add(id);
    if (voided.length > 0) {
      work.notice = `; the given partials of ${nodeList(voided)} are void, because the signer set changed: give them again for attempt ${work.attempts + 1}`;
    }
  }
  work.attempt = undefined;
  requestDraw(turn);
}

function ask(turn: Turn, attempt: Attempt): void {
  const { work, record } = turn.state;
  const wanted = new Set<number>();
  const isOpenFor = (id: number) => !attempt.partials.has(id) && !attempt.asked.has(id);
  const isHere = (id: number) => work.ready?.has(id) ?? true;
  const allowed = participants(record, work);
  for (const id of [...work.steps.keys(), ...work.askAgain]) {
    if (allowed.includes(id) && isOpenFor(id) && isHere(id)) wanted.add(id);
  }
  if (work.gathers.length > 0) {
    const signers = attempt.nonces.map((nonce) => nonce.nodeId).filter((id) => allowed.includes(id));
    const others = bindsSigners(attempt) ? [] : allowed.filter((id) => !signers.includes(id));
    let expected = attempt.partials.size + wanted.size;
    for (const id of attempt.asked) if (!work.silent.has(id)) expected += 1;
    for (const id of [...signers, ...others]) {
      if (expected >= work.key!.threshold) break;
      if (!isOpenFor(id) || wanted.has(id) || !isHere(id) || work.silent.has(id)) continue;
      wanted.add(id);
      expected += 1;
    }
  }
  if (wanted.size === 0) return;
  const about = { tenant: record.tenant, session: record.sessionId, attempt: attempt.number };
  for (const id of wanted) {
    if (bindsSigners(attempt) && !isSigner(attempt, id)) continue;
    attempt.asked.add(id);
    work.askAgain.delete(id);
    const value = partialRequest(work.task!, attempt, id, work.forgot.has(id));
    turn.effects.push({ kind: 'send', to: nodeAddress(id), message: wire(about, { case: 'partialRequest', value }) });
  }
  turn.effects.push({ kind: 'startTimer', name: 'silence', afterMs: turn.config.partialTimeoutMs });
}

/** A node answered. Anything that is not of this attempt is ignored. */
export function partialReply(turn: Turn, nodeId: number, said: PartialReply): void {
  const { work } = turn.state;
  const { attempt, task } = work;
  if (!attempt || !task || said.attemptTag !== attempt.tag || attempt.partials.has(nodeId)) return;
  if (!attempt.asked.delete(nodeId)) return;
  if (said.outcome.case === 'partial') {
    const value = readPartial(task, said.outcome.value);
    // A step is told the truth about its node at once; a gathering checks the whole signature, and parts only if it fails.
    const checked = work.steps.has(nodeId) || value === undefined;
    if (checked && (value === undefined || !verifyPartial(task, attempt, nodeId, value))) {
      exclude(turn, [nodeId]);
      return;
    }
    attempt.partials.set(nodeId, { value: value!, origin: 'node', verified: checked });
    settle(turn, attempt, nodeId);
    return;
  }
  refused(turn, attempt, nodeId, said);
}

function refused(turn: Turn, attempt: Attempt, nodeId: number, said: PartialReply): void {
  const { work } = turn.state;
  const refusal = said.outcome.case === 'refusal' ? said.outcome.value : undefined;
  turn.effects.push({
    kind: 'emit',
    event: {
      type: 'signing.node_refused',
      level: 'warn',
      fields: {
        session: turn.state.record.sessionId,
        node: nodeId,
        code: PartialRefusalCode[refusal?.code ?? 0] ?? '',
        message: refusal?.message ?? '',
      },
    },
  });
  const times = (work.forgot.get(nodeId) ?? 0) + 1;
  if (refusal?.code === PartialRefusalCode.NONCE_UNKNOWN && times <= forgottenMax) {
    work.forgot.set(nodeId, times);
    // The node restarted since it dealt: FROST starts over, mock ECDSA does without its part in the nonce.
    if (bindsSigners(attempt)) abandonAttempt(turn);
    else pump(turn);
    return;
  }
  work.unable.add(nodeId);
  for (const call of work.steps.get(nodeId) ?? []) {
    reply(
      turn,
      call,
      answer('NODES_UNAVAILABLE', `node ${nodeId} cannot sign with this key; the session is unchanged`),
    );
  }
  work.steps.delete(nodeId);
  if (bindsSigners(attempt)) abandonAttempt(turn);
  else pump(turn);
}

/** A partial came in: complete the signature, or say that it is kept, or go on. */
function settle(turn: Turn, attempt: Attempt, nodeId: number): void {
  const { work, record } = turn.state;
  const { threshold } = work.key!;
  if (attempt.partials.size >= threshold) {
    complete(turn, attempt);
    return;
  }
  const given = work.offers[0];
  const offered = given?.nodeId === nodeId ? given.call : undefined;
  const stepped = work.steps.get(nodeId) ?? [];
  const [first, ...rest] = offered ? [offered, ...stepped] : stepped;
  if (!first) {
    pump(turn);
    return;
  }
  const steps = new Map(work.steps);
  steps.delete(nodeId);
  const submitted = [...attempt.partials.keys()].sort((a, b) => a - b);
  commit(turn, progress(record, turn.context, { attempt: attempt.number, submitted }), {
    ...work,
    steps,
    offers: offered ? work.offers.slice(1) : work.offers,
    notice: '',
  });
  if (!isBusy(turn.state.work)) leaveRound(turn);
  const kept = `the partial of node ${nodeId} is in: ${submitted.length} of ${threshold} (attempt ${attempt.number})${work.notice}`;
  reply(turn, first, { ...answer('SHARE_ACCEPTED', kept), state: record.state });
  for (const call of rest)
    reply(turn, call, answer('DUPLICATE_SHARE', `the partial signature of node ${nodeId} is already in`));
}

function complete(turn: Turn, attempt: Attempt): void {
  const { work, record } = turn.state;
  const full = aggregate(work.task!, attempt);
  if (!full) {
    const culprits = [...attempt.partials]
      .filter(([id, { value, verified }]) => !verified && !verifyPartial(work.task!, attempt, id, value))
      .map(([id]) => id)
      .sort((a, b) => a - b);
    if (culprits.length === 0) throw new Error('a signature of right partials does not verify');
    for (const id of culprits) attempt.partials.delete(id);
    exclude(turn, culprits);
    return;
  }
  const submitted = [...attempt.partials.keys()].sort((a, b) => a - b);
  const done = answer(
    'SIGNATURE_COMPLETED',
    `signature by ${nodeList(submitted)}, verified under the derived public key ${Buffer.from(work.task!.derived.publicKey).toString('hex')}`,
  );
  const next = advance(record, { ...done, state: ReceiptState.BACKEND_COMPLETED }, turn.context, {
    attempt: attempt.number,
    submitted,
    signature: Buffer.from(full.signature).toString('hex'),
    recoveryId: full.recoveryId,
  });
  conclude(turn, next);
}

/** Nodes whose own partial is wrong: named, excluded, replaced. */
function exclude(turn: Turn, culprits: readonly number[]): void {
  const { work, record } = turn.state;
  const steps = new Map(work.steps);
  const told = culprits.flatMap((id) => steps.get(id) ?? []);
  for (const id of culprits) steps.delete(id);
  const excluded = [...new Set([...record.ceremony.excluded, ...culprits])].sort((a, b) => a - b);
  const next: Work = { ...work, steps };
  const { attempt } = work;
  if (attempt && bindsSigners(attempt)) {
    for (const [id, { origin }] of attempt.partials) if (origin === 'node') next.askAgain.add(id);
    next.attempt = undefined;
  }
  const submitted = next.attempt ? [...next.attempt.partials.keys()].sort((a, b) => a - b) : [];
  commit(turn, progress(record, turn.context, { attempt: work.attempts, excluded, submitted }), next);
  if (!isBusy(turn.state.work)) leaveRound(turn);
  turn.effects.push({
    kind: 'emit',
    event: {
      type: 'signing.node_misbehaved',
      level: 'error',
      fields: { tenant: record.tenant, session: record.sessionId, culprits, reason: 'INVALID_PARTIAL_SIGNATURE' },
    },
  });
  for (const call of told) {
    reply(
      turn,
      call,
      answer(
        'INVALID_PARTIAL_SIGNATURE',
        `the partial that ${nodeList(culprits)} made does not verify; excluded from this session`,
      ),
    );
  }
}

/** The round's time is over. */
export function giveUp(turn: Turn): void {
  const { work, record } = turn.state;
  if (!isBusy(work) || !work.key) return;
  const { threshold, totalNodes } = work.key;
  const ready = [...(work.ready ?? [])].filter((id) => id <= totalNodes && !work.silent.has(id));
  const here = ready.length > 0 ? `ready: ${nodeList(ready)}` : 'no node is ready';
  const excluded = record.ceremony.excluded.length > 0 ? `, excluded: ${nodeList(record.ceremony.excluded)}` : '';
  const text = `no quorum within ${turn.config.nodesWaitMs} ms: ${threshold} of ${totalNodes} nodes are needed, ${here}${excluded}`;
  if (work.gathers.length > 0) {
    const failed = { ...answer('QUORUM_UNAVAILABLE', text), state: ReceiptState.BACKEND_FAILED as const };
    conclude(turn, advance(record, failed, turn.context, { attempt: work.attempts, submitted: [] }));
    return;
  }
  // Steps alone do not fail the session: others can still be asked.
  const calls = [...[...work.steps.values()].flat(), ...work.offers.map((offer) => offer.call)];
  const away = [...work.steps.keys()];
  for (const call of calls) {
    const message =
      away.length > 0
        ? `${nodeList(away)} did not answer within ${turn.config.nodesWaitMs} ms; the session is unchanged`
        : text;
    reply(turn, call, answer('NODES_UNAVAILABLE', message));
  }
  work.steps.clear();
  work.offers.length = 0;
  leaveRound(turn);
}

/** The session leaves the round in another state: every call in it is answered. */
export function conclude(turn: Turn, record: Turn['state']['record']): void {
  const { work } = turn.state;
  const calls = [...work.gathers, ...[...work.steps.values()].flat(), ...work.offers.map((offer) => offer.call)];
  commit(turn, record, {
    ...work,
    gathers: [],
    steps: new Map(),
    offers: [],
    attempt: undefined,
    askAgain: new Set(),
    notice: '',
  });
  leaveRound(turn);
  for (const call of calls) reply(turn, call, sessionAnswer(record), signatureResult(record));
}
