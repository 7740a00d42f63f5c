/**
 * Trials of nonces and attempts: nonces that their node forgot, and signers that change. Written from
 * docs/signing-api.md (Submitting partial signatures) and docs/signing-round.md.
 */
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { must } from '../support/trial.ts';
import { type CoordinatorInTrial, nodesWaitMs, shown } from './coordinator-in-trial.ts';
import { PlayedSession } from './played-session.ts';

/** A node that restarted does not know its nonce: FROST begins again, mock ECDSA asks it without; twice at most. */
export function forgottenNonces(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  const call = session.gather();
  const [first] = session.asked;
  const { node } = first!;
  if (session.isFrost) t.asked = [];
  t.unchanged('a refusal', () => t.replies(first!, { code: Code.NONCE_UNKNOWN }));
  let again = session.askedOf(node);
  if (session.isFrost) {
    must(
      session.asked.every(({ attempt }) => attempt > first!.attempt),
      () => 'nodes are asked again in an attempt in which a signer has no nonce',
    );
  } else {
    must(
      again !== undefined && again.nonceNumber === 0n,
      () => `node ${node} does not know its nonce, and is asked for it`,
    );
  }
  if (draw.chance(0.4)) {
    for (let times = 1; times <= 3 && again !== undefined; times += 1) {
      t.replies(again, { code: Code.NONCE_UNKNOWN });
      const next = session.askedOf(node);
      must(
        next === undefined || times < 3,
        () => `node ${node} does not know its nonces, and is asked for a partial again`,
      );
      again = next;
    }
  }
  t.serve();
  t.answered(call, 'SIGNATURE_COMPLETED', 'after a nonce that its node did not know');
  // The nonces that the node dealt before are void with it.
  const other = new PlayedSession(t, { keystoreType: session.wish.keystoreType });
  other.opens();
  const later = other.gather();
  const stale = other.askedOf(node);
  const { key } = t;
  must(
    stale === undefined || key.batchOf(stale.nonceNumber) !== key.batchOf(first!.nonceNumber),
    () => `node ${node} does not know its nonce ${first!.nonceNumber}, and is asked for one of before`,
  );
  t.serve();
  t.answered(later, 'SIGNATURE_COMPLETED', 'after a nonce that its node did not know');
}

/** A session ends before its nodes have dealt: the nonces that they deal then go to the next one. */
export function withdrawnDraw(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  t.withholds = true;
  // No nonces of before.
  t.restart();
  session.opens();
  const call = session.gather();
  t.took(t.copy.pass(nodesWaitMs));
  t.answered(call, 'QUORUM_UNAVAILABLE', 'when its nodes deal no nonces');
  t.release();
  const next = new PlayedSession(t, { keystoreType: session.wish.keystoreType });
  next.opens();
  const later = next.gather();
  const { key } = t;
  for (const { node, nonceNumber } of next.asked) {
    must(
      key.batchOf(nonceNumber) !== key.batchOf(nonceNumber - 1n),
      () => `the first nonce of node ${node} went to a session that had ended`,
    );
  }
  t.serve();
  t.answered(later, 'SIGNATURE_COMPLETED', 'with the nonces that an ended session had waited for');
}

/** FROST: a step waits for its own node, and another signer's lost link does not void the attempt in which it was asked. */
export function stepBesideLostLink(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  const id = t.trial.draw.pick(t.ids);
  const call = session.step(id);
  const asked = session.askedOf(id)!;
  const other = asked.signers.map(({ nodeId }) => nodeId).find((node) => node !== id)!;
  t.asked = [];
  t.linkDown(other);
  must(session.askedOf(id) === undefined, () => `node ${id} is asked again for a step, because node ${other} is gone`);
  t.replies(asked, t.key.partial(id, asked));
  t.answered(call, 'SHARE_ACCEPTED', 'with its partial, when another signer is gone');
  session.signs('when a signer is gone');
}

/** A step for a node that FROST's signers do not include: a new attempt includes it, and a client's partial is void. */
export function otherSigner(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  const gather = session.gather();
  const requests = session.asked;
  const inside = requests.map(({ node }) => node);
  const outside = t.ids.find((id) => !inside.includes(id))!;
  const isGiven = t.trial.draw.chance(0.5);
  const [first] = requests;
  const { partial, noncePoint } = t.key.partial(first!.node, first!);
  if (isGiven) {
    t.answered(session.step(first!.node, { partialSignature: partial }), 'SHARE_ACCEPTED', 'with a right partial');
  } else t.replies(first!, { partial, noncePoint });
  t.asked = [];
  const step = session.step(outside);
  must(
    session.askedOf(outside) !== undefined && session.askedOf(outside)!.attempt > first!.attempt,
    () => `a step for node ${outside}, which does not sign, begins no new attempt`,
  );
  t.unchanged('an answer of an earlier attempt', () => {
    const stale = requests[1]!;
    t.replies(stale, t.key.partial(stale.node, stale));
  });
  if (isGiven) {
    t.replies(session.askedOf(outside)!, t.key.partial(outside, session.askedOf(outside)!));
  }
  const early = t.reply(step);
  must(
    !isGiven || /void/.test(early?.value.receipt.message),
    () => `a client's partial is void, and the answer to the next step does not say so: ${shown(early)}`,
  );
  t.serve();
  t.answered(gather, 'SIGNATURE_COMPLETED', 'in another attempt');
  const { reasonCode } = t.reply(step)?.value.receipt ?? {};
  must(
    reasonCode === 'SIGNATURE_COMPLETED' || reasonCode === 'SHARE_ACCEPTED',
    () => `a step in another attempt is answered ${shown(t.reply(step))}`,
  );
}
