/**
 * Trials of SubmitSignatureShare: calls that are wrong in one field, partials of clients, and the order of calls. Written from
 * docs/signing-api.md (Submitting partial signatures).
 */

import { keyKey } from '../../coordinator/contract/messages.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { changed, must, trialTenant } from '../support/trial.ts';
import { type CoordinatorInTrial, callsWaitingMax, lifetimesMs, nodesWaitMs, shown } from './coordinator-in-trial.ts';
import { PlayedSession } from './played-session.ts';

type WrongShare = readonly [what: string, changes: object, code: string];

function wrongShares(session: PlayedSession): WrongShare[] {
  const { t, scheme } = session;
  const [id] = t.ids;
  const bytes =
    scheme === 'owner_ecdsa' || scheme === 'hsm_ecdsa' || scheme === 'vendor_ecdsa'
      ? 65
      : scheme.endsWith('ed25519') && !session.isFrost
        ? 64
        : 32;
  const shares = session.isFrost || scheme === 'mock_ecdsa';
  const outside = [101, t.trial.nodesTotal + 1, -1, 1, 2, 3, 4, 5].find((other) => !t.ids.includes(other))!;
  const point = (length: number) => ({ ephemeralPublicKey: new Uint8Array(length).fill(2) });
  return [
    ['a node without a share', { nodeId: outside }, 'NODE_NOT_PARTICIPANT'],
    ['a partial of no node', { partialSignature: new Uint8Array(bytes).fill(1) }, 'INVALID_REQUEST'],
    ['a short partial', { nodeId: id, partialSignature: new Uint8Array(bytes - 1).fill(1) }, 'INVALID_REQUEST'],
    ['a long partial', { nodeId: id, partialSignature: new Uint8Array(bytes + 1).fill(1) }, 'INVALID_REQUEST'],
    ['a nonce point of 31 bytes', point(31), 'INVALID_REQUEST'],
    [
      'another contract',
      { nodeId: id, context: { client: { contractVersion: '2.0' } } },
      'CONTRACT_VERSION_UNSUPPORTED',
    ],
    ...(shares ? [] : ([['a nonce point of signers without one', point(33), 'INVALID_REQUEST']] as const)),
  ];
}

/** Refused, and the session continues. */
export function wrongShare(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (draw.chance(0.3)) t.restart();
  for (let left = draw.int(2, 4); left > 0; left -= 1) {
    const [what, changes, code] = draw.pick(wrongShares(session));
    t.unchanged(what, () => t.answered(session.gather(changes), code, `for a call with ${what}`));
    must(session.asked.length === 0, () => `a node is asked for a refused call with ${what}`);
  }
  if (session.isVendor) return;
  const { fullSignature } = session.signs('after refused calls');
  t.unchanged('a call about a complete session', () => {
    const again = t.answered(session.gather(), 'SIGNATURE_COMPLETED', 'of a complete session');
    must(Buffer.compare(again.fullSignature, fullSignature) === 0, () => 'a complete session gives another signature');
  });
}

/** Another nonce point than the attempt's: refused, whether the attempt has its nonces yet or not. */
export function otherNoncePoint(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  const isEarly = draw.chance(0.5);
  t.withholds = isEarly;
  session.opens();
  const wrong = { ephemeralPublicKey: new Uint8Array(draw.pick([32, 33])).fill(2) };
  const nodeId = draw.pick([0, t.ids[0]!]);
  const call = session.gather({ nodeId, ...wrong });
  t.release();
  t.answered(call, 'INVALID_REQUEST', 'with another nonce point than the attempt’s');
  must(session.asked.length === 0, () => 'a node is asked for a call with another nonce point');
  session.signs('after a call with another nonce point');
}

/** Steps: as many partials as the threshold, each counted once. */
export function steps(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const [first, second] = draw.some(t.ids, 2);
  const call = session.step(first!);
  must(
    session.asked.length === 1 && session.asked[0]!.node === first,
    () => `a step of node ${first} asks ${session.asked.length} nodes`,
  );
  const [asked] = session.asked;
  if (session.threshold === 1) {
    t.serve();
    t.answered(call, 'SIGNATURE_COMPLETED', 'of the only node');
    return;
  }
  const also = draw.chance(0.4) ? session.step(first!) : undefined;
  t.replies(asked!, t.key.partial(first!, asked!));
  t.answered(call, 'SHARE_ACCEPTED', 'with its partial');
  if (also) t.answered(also, 'DUPLICATE_SHARE', 'of the same node, at the same time');
  const known = t.record(session.id)!.ceremony;
  must(
    known.kind === 'signing' && known.submitted.join() === `${first}`,
    () => 'an accepted partial is not in the record',
  );
  t.unchanged('a repeated partial', () => {
    const given = draw.chance(0.5) ? { partialSignature: t.key.partial(first!, asked!).partial } : {};
    t.answered(session.step(first!, given), 'DUPLICATE_SHARE', 'of a node whose partial is in');
    t.replies(asked!, t.key.partial(first!, asked!));
    must(session.asked.length === 0, () => 'a node is asked for a partial that is in');
  });
  if (draw.chance(0.3)) {
    t.restart();
    // What a client was told survives: the node is asked again.
    t.answered(session.step(first!), 'DUPLICATE_SHARE', 'of a node whose partial is in, after a restart');
  }
  const last = session.step(second!);
  t.serve();
  const answer = t.answered(last, 'SIGNATURE_COMPLETED', 'with the last partial');
  must(answer.isComplete, () => 'the last partial completes no signature');
  t.unchanged('a partial of a complete session', () => {
    const late = session.step(first!, { partialSignature: t.key.wrong(first!, asked!).partial });
    t.answered(late, 'DUPLICATE_SHARE', 'in place of a node that has signed');
  });
}

/** A client's partials stand in for those of nodes; a wrong one is its call's fault. */
export function offers(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const { threshold } = session;
  const gather = session.gather();
  const requests = session.asked;
  must(requests.length === threshold, () => `${requests.length} nodes are asked for ${threshold} partials`);
  const [asked, other] = draw.chance(0.5) ? requests : [...requests].reverse();
  const id = asked!.node;
  const right = t.key.partial(id, asked!).partial;
  t.unchanged('wrong partials', () => {
    const wrong = session.step(id, { partialSignature: t.key.wrong(id, asked!).partial });
    t.answered(wrong, 'INVALID_PARTIAL_SIGNATURE', 'with a partial that does not verify');
    const outside = t.ids.find((node) => requests.every((each) => each.node !== node));
    if (outside !== undefined) {
      const text = session.step(outside, { partialSignature: right });
      t.answered(text, 'INVALID_PARTIAL_SIGNATURE', 'with the partial of another node');
    }
    if (right.length === 32) {
      const text = session.step(id, { partialSignature: new Uint8Array(32).fill(255) });
      t.answered(text, 'INVALID_PARTIAL_SIGNATURE', 'with a partial that is no scalar');
    }
  });
  const given = session.step(id, { partialSignature: right });
  if (threshold > 1) {
    t.answered(given, 'SHARE_ACCEPTED', 'with a right partial');
    const ceremony = t.record(session.id)!.ceremony;
    must(
      ceremony.kind === 'signing' && ceremony.submitted.join() === `${id}` && ceremony.given.join() === `${id}`,
      () => 'an accepted partial of a client is not in the record as such',
    );
    t.answered(session.step(id, { partialSignature: right }), 'DUPLICATE_SHARE', 'with a partial that is in');
    // The node's own comes too late.
    t.unchanged('a second partial of a node', () => t.replies(asked!, t.key.partial(id, asked!)));
    t.replies(other!, t.key.partial(other!.node, other!));
  }
  const answer = t.answered(gather, 'SIGNATURE_COMPLETED', 'with the last partial');
  must(answer.isComplete, () => 'the last partial completes no signature');
}

/** Two partials of one node that wait for the same nonces: one counts. */
export function offersTogether(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  const [id] = draw.some(t.ids, 1);
  const signed = new PlayedSession(t, {
    ...session.wish,
    transactionIntentId: `${session.wish.transactionIntentId}-2`,
  });
  signed.opens();
  const known = signed.step(id!);
  const partialSignature = t.key.partial(id!, signed.askedOf(id!)!).partial;
  t.serve();
  t.answered(known, 'SHARE_ACCEPTED', 'with its partial');
  // An owner's signature needs no nonce: the calls wait for the key.
  t.restart();
  t.copy.holdsReads = true;
  const calls = [1, 2].map(() => session.step(id!, { partialSignature }));
  t.copy.holdsReads = false;
  t.took(t.copy.answerHeld());
  t.answered(calls[0]!, 'SHARE_ACCEPTED', 'with the first of two equal partials');
  t.answered(calls[1]!, 'DUPLICATE_SHARE', 'with the second of two equal partials', true);
}

/** The key is not there, or is not as it was written: nothing is asked of nodes. */
export function lostKey(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const session = new PlayedSession(t);
  session.opens();
  t.restart();
  const name = keyKey(trialTenant, t.key.record.keyId);
  const isTampered = draw.chance(0.5);
  // Another record in place of the key: there is none.
  copy.shown.set(name, isTampered ? { kind: 'tampered' } : { kind: 'openSessions', sessionIds: [] });
  const code = isTampered ? 'STORE_TAMPERED' : 'WALLET_KEY_NOT_FOUND';
  t.unchanged('a call without its key', () => {
    t.answered(session.gather(), code, 'without its key');
    t.answered(session.step(t.ids[0]!), code, 'without its key');
    const preview = t.reply(session.preview(t.ids[0]!));
    must(preview?.value.reasonCode === code, () => `a preview without its key is answered ${shown(preview)}`);
  });
  copy.shown.delete(name);
  if (!session.isVendor) session.signs('when its key is there again');
}

/** A session keeps a number of calls waiting; the next is refused, and has no effect. */
export function tooManyCalls(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  const calls = Array.from({ length: callsWaitingMax }, () => session.gather());
  for (const call of calls) t.waits(call, 'before any node has answered');
  t.failed(session.gather(), [CallErrorCode.OVERLOADED], 'when too many calls wait');
  if (session.isVendor) return;
  t.serve();
  for (const call of calls) t.answered(call, 'SIGNATURE_COMPLETED', 'after it waited');
  const inspected = t.reply(t.call('inspectSession', { sessionId: session.id }));
  must(inspected?.value.found === true, () => 'an inspection does not find a session');
  const named = t.call('inspectSession', { sessionId: draw404(t) });
  must(t.reply(named)?.value.found === false, () => 'an inspection finds a session that does not exist');
}

function draw404(t: CoordinatorInTrial): string {
  return t.trial.draw.pick(['no-such', t.newSession(), 'x y', '']);
}

/** Past its lifetime a session says so at its next call, to its waiting calls, and signs no more. */
export function lateCalls(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  const isVendor = session.isVendor;
  const late = lifetimesMs.signingMs;
  const expired = (call: ReturnType<PlayedSession['gather']>, why: string) => {
    const answer = t.answered(call, 'SESSION_EXPIRED', why);
    must(!answer.isComplete, () => 'an expired session gives a signature');
  };
  // Time stands still for the timers: only the clock advances.
  const clockPasses = (ms: number) => {
    t.copy.nowMs += ms;
  };
  const isWaiting = draw.chance(0.7);
  const waiting = isWaiting ? session.gather() : undefined;
  const requests = session.asked;
  const isFirst = draw.chance(0.5) && requests.length > 1 && !isVendor;
  if (isFirst) t.replies(requests[0]!, t.key.partial(requests[0]!.node, requests[0]!));
  clockPasses(late - 1);
  if (draw.chance(0.3) && !isWaiting) {
    t.unchanged('a scan in its last millisecond', () =>
      t.took(t.copy.tell(session.address, { kind: 'expire' }, 'expiry')),
    );
  }
  clockPasses(1);
  t.asked = [];
  draw.pick([
    () => t.took(t.copy.tell(session.address, { kind: 'expire' }, 'expiry')),
    () => t.took(t.copy.tell('expiry', { kind: 'sweep' }, 'runtime')),
    () => expired(session.gather(), 'past its lifetime'),
    () => expired(session.step(t.ids[0]!), 'past its lifetime'),
    () => t.took(t.copy.pass(nodesWaitMs)),
    () => t.linkDown(t.ids.at(-1)!),
    () => {
      const asked = requests.at(-1);
      if (asked === undefined || isVendor) expired(session.gather(), 'past its lifetime');
      else t.replies(asked, t.key.partial(asked.node, asked));
    },
    () => {
      t.took(t.copy.tell(session.address, { kind: 'revoke', clientsOnly: false }, `closing/${trialTenant}/x`));
    },
    () => {
      // Alone it changes nothing, not even the state.
      const act = () => session.preview(t.ids[0]!);
      const preview = t.reply(isWaiting ? act() : t.unchanged('a preview past the lifetime', act));
      must(
        preview?.value.reasonCode === 'SESSION_EXPIRED',
        () => `a preview past the lifetime is answered ${shown(preview)}`,
      );
    },
  ])();
  must(session.asked.length === 0, () => 'a session asks nodes past its lifetime');
  if (waiting !== undefined) {
    if (t.reply(waiting) === undefined) t.took(t.copy.tell(session.address, { kind: 'expire' }, 'expiry'));
    expired(waiting, 'when its lifetime ended while it waited');
  }
  expired(session.gather(), 'past its lifetime');
  t.unchanged('a call about an expired session', () => expired(session.step(t.ids[0]!), 'past its lifetime'));
}

/** Its time for nodes and its lifetime are over at once: it expires, and cannot be resumed. */
export function lateQuorum(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  t.took(t.copy.pass(lifetimesMs.signingMs - nodesWaitMs + 500));
  const call = session.gather();
  t.took(t.copy.pass(nodesWaitMs));
  t.answered(call, 'SESSION_EXPIRED', 'when its lifetime ended while it waited for nodes');
}

/** An inspection shows the session as it is, whether it is in memory or not. */
export function inspections(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (draw.chance(0.6)) t.restart();
  t.unchanged('an inspection', () => {
    const early = draw.chance(0.4) ? session.gather() : undefined;
    const call = t.call('inspectSession', { sessionId: session.id });
    const { value } = t.anyReply(call, 'of a session');
    const { threshold, totalNodes, keyId } = t.key.record;
    must(
      value.found && value.threshold === threshold && value.totalNodes === totalNodes && value.keySession === keyId,
      () => `an inspection shows a key of ${value.threshold} of ${value.totalNodes}`,
    );
    must(value.state === session.state, () => `an inspection shows state ${value.state}`);
    // No id of a session: only its beginning is one.
    const longer = { sessionId: `${session.id}/${draw.pick(['', 'x'])}`, nodeId: t.ids[0]! };
    const found = t.reply(t.call('inspectSession', longer));
    must(found?.value.found === false, () => `an inspection of ${longer.sessionId} finds ${session.id}`);
    const preview = t.reply(t.call('previewPartial', longer));
    must(
      preview?.value.reasonCode === 'SESSION_NOT_FOUND',
      () => `a preview of ${longer.sessionId} is answered ${shown(preview)}`,
    );
    if (early) t.waits(early, 'by an inspection');
  });
}

/** The partial of another message. */
export function otherMessage(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const gather = session.gather();
  const [asked] = session.asked;
  const wrong = t.key.partial(asked!.node, { ...asked!, message: changed(asked!.message) });
  const step = session.step(asked!.node, { partialSignature: wrong.partial });
  t.answered(step, 'INVALID_PARTIAL_SIGNATURE', 'with a partial of another message');
  t.serve();
  t.answered(gather, 'SIGNATURE_COMPLETED', 'after a partial of another message');
}
