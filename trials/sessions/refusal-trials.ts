/**
 * Trials of nodes that refuse to sign, by every code: what their calls are told, who is asked again, and when a session pauses.
 * Written from docs/signing-api.md, docs/reason-codes.md, docs/keystores.md and docs/wire.md (Orders).
 */
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { must } from '../support/trial.ts';
import { type Asked, type CoordinatorInTrial, nodesWaitMs } from './coordinator-in-trial.ts';
import { gathering, isShared, PlayedSession } from './played-session.ts';

const lasting = [
  [Code.KEYSTORE_MISMATCH, 'KEYSTORE_MISMATCH'],
  [Code.INTENT_MESSAGE_CHANGED, 'INTENT_MESSAGE_CHANGED'],
] as const;
const orders = [Code.ORDER_MISSING, Code.ORDER_INVALID, Code.ORDER_EXPIRED, Code.WITNESS_MISSING] as const;
const tokens = [
  [Code.HSM_UNCONFIGURED, 'KEYSTORE_UNAVAILABLE'],
  [Code.HSM_SESSION_LOST, 'HSM_SESSION_LOST'],
  [Code.HSM_PIN_REFUSED, 'HSM_PIN_REFUSED'],
  [Code.HSM_TIMEOUT, 'HSM_TIMEOUT'],
  [Code.HSM_TOKEN_ABSENT, 'HSM_TOKEN_ABSENT'],
  [Code.HSM_FAILED, 'HSM_FAILED'],
  [Code.VENDOR_UNCONFIGURED, 'KEYSTORE_UNAVAILABLE'],
  [Code.VENDOR_UNAVAILABLE, 'VENDOR_UNAVAILABLE'],
  [Code.VENDOR_REJECTED, 'VENDOR_REJECTED'],
  [Code.VENDOR_CANCELLED, 'VENDOR_CANCELLED'],
  [Code.VENDOR_SIGNATURE_INVALID, 'VENDOR_SIGNATURE_INVALID'],
] as const;
const others = [Code.KEY_UNKNOWN, Code.REQUEST_INVALID, Code.UNSPECIFIED] as const;

/** The refusal, the answer to a step for that node, and the reason of the session when no quorum is left. */
function refusalOf(session: PlayedSession): readonly [code: Code, step: string, failure: string] {
  const { draw } = session.t.trial;
  const holder = session.scheme.split('_')[0];
  if (holder === 'hsm' || holder === 'vendor') {
    const [code, reason] = draw.pick(tokens.filter(([each]) => Code[each].startsWith(holder.toUpperCase())));
    return [code, reason, reason];
  }
  return draw.pick([
    () => [...draw.pick(lasting), ''] as const,
    () => [draw.pick(orders), 'ORDER_REFUSED', 'ORDER_REFUSED'] as const,
    () => [draw.pick(others), 'NODES_UNAVAILABLE', 'QUORUM_UNAVAILABLE'] as const,
  ])();
}

/** A step of a node that refuses: its call says why, and the session continues without the node. */
export function refusedStep(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  const id = t.trial.draw.pick(t.ids);
  const call = session.step(id);
  const asked = session.askedOf(id);
  must(asked !== undefined, () => `a step does not ask node ${id}`);
  const [code, step] = refusalOf(session);
  t.unchanged('a refusal', () => t.replies(asked, { code }));
  t.answered(call, step, `when its node refuses with ${Code[code]}`);
  must(session.state === ReceiptState.ACCEPTED, () => `a refused step (${Code[code]}) changes its session`);
  if (!isShared(session)) {
    // The next call asks it again.
    const again = session.step(id);
    must(session.askedOf(id) !== undefined, () => `node ${id} did not sign at once, and is not asked again`);
    t.waits(again, 'before its node has answered');
    return;
  }
  must(session.askedOf(id) === undefined, () => `node ${id} refuses for good, and is asked again`);
  const preview = t.reply(session.preview(id));
  const shown =
    Code[code]!.startsWith('ORDER') || code === Code.WITNESS_MISSING ? 'ORDER_REFUSED' : 'NODES_UNAVAILABLE';
  must(
    preview?.value.reasonCode === shown,
    () => `a preview of a node that refuses is answered ${preview?.value.reasonCode}`,
  );
  session.signs(`without a node that refuses with ${Code[code]}`);
}

/** A partial that was in is lost with the process, and its node refuses to make it again: it is no longer in. */
export function refusedAgain(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  const [first, second] = t.trial.draw.some(t.ids, 2) as [number, number];
  const given = session.step(first);
  t.serve();
  t.answered(given, 'SHARE_ACCEPTED', 'with its partial');
  t.restart();
  const next = session.step(second);
  const asked = session.askedOf(first);
  must(asked !== undefined, () => `the partial of node ${first} is lost, and the node is not asked again`);
  const [code] = refusalOf(session);
  t.replies(asked, { code });
  t.waits(session.step(first), `at once when its node refused to sign again (${Code[code]})`);
  t.serve();
  t.answered(next, 'SHARE_ACCEPTED', 'when another node refuses to sign again');
  session.signs(`without a node that refuses to sign again (${Code[code]})`);
}

/** Steps fail alone: also when too many nodes refuse the order for a quorum, the session continues for the others. */
export function refusedSteps(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  if (!isShared(session)) return;
  session.opens();
  const calls = t.ids.map((id) => [id, session.step(id)] as const);
  const last = t.ids.at(-1)!;
  const code = t.trial.draw.pick(orders);
  for (const [id, call] of calls.slice(0, -1)) {
    const asked = session.askedOf(id);
    // FROST asks the signers of one attempt.
    if (asked === undefined) continue;
    t.unchanged('a refusal', () => t.replies(asked, { code }));
    t.answered(call, 'ORDER_REFUSED', `when its node refuses with ${Code[code]}`);
  }
  must(session.state === ReceiptState.ACCEPTED, () => `refused steps (${Code[code]}) change their session`);
  t.waits(calls.at(-1)![1], `when other nodes than node ${last} refuse the order`);
}

/** So many nodes refuse that no quorum is left: the session pauses at once, and a resume may try again. */
export function refusedGathering(t: CoordinatorInTrial): void {
  const { session, call, requests } = gathering(t);
  const [code, , failure] = refusalOf(session);
  const isOther = failure === 'QUORUM_UNAVAILABLE';
  const reason = failure || Code[code]!;
  const left = t.ids.length - session.threshold + 1;
  const refusers: number[] = [];
  for (let count = 0; count < left; count += 1) {
    const asked: Asked | undefined = session.asked.find(({ node }) => !refusers.includes(node));
    must(asked !== undefined, () => `no other node is asked when node ${refusers.join()} refuses with ${Code[code]}`);
    t.waits(call, 'when a quorum is left');
    refusers.push(asked.node);
    t.replies(asked, { code });
  }
  if (isOther) {
    t.waits(call, 'before its time is over');
    t.took(t.copy.pass(nodesWaitMs));
  }
  const { checkpoint } = t.answered(call, reason, `when no quorum is left (${Code[code]})`);
  must(session.state === ReceiptState.BACKEND_FAILED, () => 'a session without a quorum does not pause');
  t.unchanged('a call about a paused session', () => t.answered(session.gather(), reason, 'of a paused session'));
  t.unchanged('an answer after the pause', () =>
    t.replies(requests[0]!, t.key.partial(requests[0]!.node, requests[0]!)),
  );
  t.answered(session.resume(checkpoint.resumeToken), 'SESSION_RESUMED', 'of a paused session');
  if (reason !== 'ORDER_REFUSED' && isShared(session)) return;
  // What a resume may have cured: nodes are asked again.
  t.asked = [];
  const again = session.gather();
  must(session.asked.length === session.threshold, () => `${session.asked.length} nodes are asked after a resume`);
  if (session.isVendor) return;
  t.serve();
  t.answered(again, 'SIGNATURE_COMPLETED', 'after a resume');
}
