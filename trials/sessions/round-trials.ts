/**
 * Trials of a signing round: wrong, late, second and missing answers of nodes, and their refusals. Written from docs/signing-api.md
 * (Submitting partial signatures), docs/signing-round.md and docs/wire.md (Orders).
 */
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { must } from '../support/trial.ts';
import { type CoordinatorInTrial, nodesWaitMs, partialTimeoutMs, shown } from './coordinator-in-trial.ts';
import { gathering, isShared, PlayedSession } from './played-session.ts';

/** Answers that do not count: of another attempt, of a node that was not asked to sign, of no node, twice. */
export function strayAnswers(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const { session, call, requests } = gathering(t);
  if (session.isVendor) return;
  const [asked] = requests;
  const right = t.key.partial(asked!.node, asked!);
  t.unchanged('stray answers', () => {
    t.replies({ ...asked!, attemptTag: asked!.attemptTag ^ 1n }, right);
    const outside = t.ids.find((id) => requests.every(({ node }) => node !== id));
    if (session.isFrost && outside !== undefined) t.replies({ ...asked!, node: outside }, right);
    const stranger = [101, 7, 6, 5, 4, 3, 2, 1].find((id) => !t.ids.includes(id))!;
    t.replies({ ...asked!, node: stranger }, right);
    t.replies({ ...asked!, node: 1 }, right, 'gateway/trial');
    t.replies({ ...asked!, node: 1 }, right, 'node/x');
  });
  t.waits(call, 'by stray answers');
  t.asked = requests;
  // Nonces of a draw that the session no longer waits for.
  const late = { kind: 'drawn', ticket: 1, nonces: [] } as const;
  t.unchanged('late nonces', () => t.took(t.copy.tell(session.address, late, 'cluster')));
  if (isShared(session)) {
    t.replies(asked!, right);
    const again = draw.chance(0.5) ? t.key.wrong(asked!.node, asked!) : right;
    t.unchanged('a second answer', () => t.replies(asked!, again));
    t.unchanged('a refusal after an answer', () => t.replies(asked!, { code: Code.KEY_UNKNOWN }));
  }
  t.serve();
  t.answered(call, 'SIGNATURE_COMPLETED', 'after stray answers');
  t.unchanged('an answer after the end', () => t.replies(requests.at(-1)!, right));
}

/** A node whose partial is wrong is named and excluded, and another takes its place. */
export function wrongPartial(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  const isStep = draw.chance(0.5);
  const call = isStep ? session.step(draw.pick(t.ids)) : session.gather();
  const requests = session.asked;
  const [asked] = requests;
  if (session.isVendor && isStep) return;
  const liar = asked!.node;
  const isShort = draw.chance(0.4);
  const { partial, noncePoint } = t.key.wrong(liar, asked!);
  t.replies(asked!, { partial: isShort ? partial.subarray(1) : partial, noncePoint });
  // With the other partials: one signature is verified, and its parts only if that fails.
  if (!isStep && !isShort) for (const other of requests.slice(1)) t.replies(other, t.key.partial(other.node, other));
  must(
    session.excluded.join() === `${liar}`,
    () => `node ${liar} gave a wrong partial, and ${session.excluded.join() || 'none'} is excluded`,
  );
  if (isStep) t.answered(call, 'INVALID_PARTIAL_SIGNATURE', 'when its node’s partial is wrong');
  else if (!isShared(session)) return;
  t.unchanged('a call for an excluded node', () => {
    t.answered(session.step(liar), 'NODE_NOT_PARTICIPANT', 'for an excluded node');
    const preview = t.reply(session.preview(liar));
    must(
      preview?.value.reasonCode === 'NODE_NOT_PARTICIPANT',
      () => `a preview of an excluded node is answered ${shown(preview)}`,
    );
  });
  if (!isShared(session)) return;
  const next = isStep ? session.gather() : call;
  must(
    session.asked.every(({ node }) => node !== liar),
    () => `the excluded node ${liar} is asked again`,
  );
  const stale = requests.find(({ node }) => node !== liar);
  if (session.isFrost && stale !== undefined && !isStep) {
    t.unchanged('an answer of an earlier attempt', () => t.replies(stale, t.key.partial(stale.node, stale)));
  }
  t.serve();
  const answer = t.answered(next, 'SIGNATURE_COMPLETED', 'without the excluded node');
  const ceremony = t.record(session.id)!.ceremony;
  must(
    answer.isComplete && ceremony.kind === 'signing' && !ceremony.submitted.includes(liar),
    () => 'an excluded node is among the signers',
  );
}

/** Silence blames no node: others are asked, or the same again. */
export function silence(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const { session, call, requests } = gathering(t);
  if (session.isVendor) return;
  const [mute, ...rest] = requests;
  const answersFirst = draw.chance(0.5) && isShared(session);
  if (answersFirst) for (const asked of rest) t.replies(asked, t.key.partial(asked.node, asked));
  const preview = draw.chance(0.5) && isShared(session) ? session.preview(mute!.node) : undefined;
  t.asked = [];
  // Another call for the same does not prolong the wait.
  const isTwice = draw.chance(0.4);
  t.unchanged('a timeout', () => {
    t.took(t.copy.pass(partialTimeoutMs / 2));
    if (isTwice) session.gather();
    t.took(t.copy.pass(partialTimeoutMs / 2));
  });
  if (preview) {
    const reply = t.reply(preview);
    must(
      reply?.value.reasonCode === 'NODES_UNAVAILABLE',
      () => `a preview of a silent node is answered ${reply?.value.reasonCode}`,
    );
  }
  t.waits(call, 'when a node is silent');
  must(session.asked.length > 0, () => 'no node is asked in place of a silent one');
  if (isShared(session)) {
    const others = session.asked.filter(({ node }) => node !== mute!.node);
    must(others.length > 0, () => 'only the silent node is asked again');
    if (answersFirst) {
      const late = t.reply(session.preview(mute!.node));
      must(
        late?.value.reasonCode === 'NODES_UNAVAILABLE',
        () => `a preview of a silent node is answered ${shown(late)} while others answer for it`,
      );
    }
  }
  if (draw.chance(0.3) && isShared(session)) {
    // All are silent: they get another chance.
    t.asked = [];
    t.took(t.copy.pass(partialTimeoutMs));
    must(session.asked.length > 0, () => 'no node is asked again when all are silent');
    must(
      !session.isFrost || session.asked.every(({ attempt }) => attempt > requests[0]!.attempt),
      () => 'FROST’s signers are all silent, and asked again in the same attempt',
    );
    t.waits(call, 'when all nodes are silent');
  }
  t.serve();
  t.answered(call, 'SIGNATURE_COMPLETED', 'after a silence');
  must(session.excluded.length === 0, () => 'a silent node is excluded');
}

/** Nodes without a link: a request that reaches none counts as silence; without a quorum the call waits, and then fails. */
export function unlinked(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const isUnnoticed = draw.chance(0.5);
  const isStep = draw.chance(0.5);
  const id = draw.pick(t.ids);
  if (isUnnoticed) t.copy.unlinked.add(`node/${id}`);
  else {
    // Without any node there are no nonces either.
    const isDark = isStep && draw.chance(0.4);
    const away = isDark ? t.ids : isStep ? [id] : isShared(session) ? t.ids.filter((other) => other !== id) : t.ids;
    for (const other of away) t.linkDown(other);
    const call = isStep ? session.step(id) : session.gather();
    must(session.askedOf(away[0]!) === undefined, () => `node ${away[0]} has no link, and is asked`);
    const preview = session.preview(away[0]!);
    must(
      t.reply(preview)?.value.reasonCode === 'NODES_UNAVAILABLE',
      () => `a preview of a node without a link is answered ${t.reply(preview)?.value.reasonCode}`,
    );
    t.waits(call, 'before its time is over');
    t.took(t.copy.pass(nodesWaitMs));
    const isFailed = !isStep;
    t.answered(call, isFailed ? 'QUORUM_UNAVAILABLE' : 'NODES_UNAVAILABLE', 'when its nodes have no link');
    must(
      session.state === (isFailed ? ReceiptState.BACKEND_FAILED : ReceiptState.ACCEPTED),
      () => `a ${isStep ? 'step' : 'gathering'} without nodes leaves its session in state ${session.state}`,
    );
    for (const other of away) t.linkUp(other);
    if (isFailed) return;
    t.asked = [];
    const next = session.step(id);
    must(session.askedOf(id) !== undefined, () => `node ${id} has its link again, and is not asked`);
    t.waits(next, 'before its node has answered');
    return;
  }
  const call = session.gather();
  t.serve();
  if (!isShared(session)) {
    t.waits(call, 'when its only node has no link');
    return;
  }
  // The others answer for it.
  if (t.reply(call) === undefined) {
    t.took(t.copy.pass(partialTimeoutMs));
    t.serve();
  }
  t.answered(call, 'SIGNATURE_COMPLETED', 'when one node has no link');
}

/** A step whose node is silent fails alone, and the next one asks it again. */
export function silentStep(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  const id = t.trial.draw.pick(t.ids);
  const call = session.step(id);
  t.asked = [];
  t.unchanged('a silent node', () => t.took(t.copy.pass(nodesWaitMs)));
  t.answered(call, 'NODES_UNAVAILABLE', 'when its node is silent');
  t.asked = [];
  const next = session.step(id);
  must(session.askedOf(id) !== undefined, () => `node ${id} was silent, and the next step does not ask it`);
  if (session.isVendor) return;
  t.serve();
  t.answered(next, isShared(session) ? 'SHARE_ACCEPTED' : 'SIGNATURE_COMPLETED', 'of a node that was silent');
}

/** Nodes that were silent are drawn last for a while, and sign where a quorum needs them. */
export function suspects(t: CoordinatorInTrial): void {
  const { session, call, requests } = gathering(t);
  if (!isShared(session)) return;
  t.asked = [];
  t.took(t.copy.pass(partialTimeoutMs));
  t.serve();
  t.answered(call, 'SIGNATURE_COMPLETED', 'after a silence');
  const next = gathering(t);
  const silent = requests.map(({ node }) => node);
  must(
    next.requests.some(({ node }) => !silent.includes(node)),
    () => `only nodes ${silent.join()} are asked, which were silent before`,
  );
  t.serve();
  t.answered(next.call, 'SIGNATURE_COMPLETED', 'with nodes that were silent before');
}

/** As many nodes are linked as sign, and one of them was silent before: it is asked at once, since no other can take its place. */
export function bareQuorum(t: CoordinatorInTrial): void {
  const { session, call, requests } = gathering(t);
  if (!isShared(session)) return;
  const mute = requests[0]!.node;
  for (const asked of requests.slice(1)) t.replies(asked, t.key.partial(asked.node, asked));
  t.asked = [];
  t.took(t.copy.pass(partialTimeoutMs));
  t.serve();
  t.answered(call, 'SIGNATURE_COMPLETED', 'after a silence');
  const others = t.ids.filter((id) => id !== mute);
  for (const id of others.slice(session.threshold - 1)) t.linkDown(id);
  const next = gathering(t);
  t.serve();
  t.answered(next.call, 'SIGNATURE_COMPLETED', 'with a node that was silent before');
}
