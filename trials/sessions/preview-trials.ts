/**
 * Trials of a sandbox's previews: what a node would submit, without any effect on the session. Written from docs/faults.md, the
 * sandbox part of docs/signing-api.md and proto/signmesh/wire/v1/sandbox.proto.
 */
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { must } from '../support/trial.ts';
import { type Call, type CoordinatorInTrial, callsWaitingMax, nodesWaitMs, shown } from './coordinator-in-trial.ts';
import { PlayedSession } from './played-session.ts';

function shows(t: CoordinatorInTrial, call: Call, partial: Uint8Array, why: string): void {
  const reply = t.reply(call);
  must(
    reply?.case === 'previewPartial' && reply.value.partial && Buffer.compare(reply.value.partial, partial) === 0,
    () => `a preview is answered ${shown(reply)} ${why}, not with the node's partial`,
  );
}

function showsNone(t: CoordinatorInTrial, call: Call, code: string, why: string): void {
  const reply = t.reply(call);
  must(reply?.value.reasonCode === code, () => `a preview is answered ${shown(reply)} ${why}, not ${code}`);
}

/** Its partial is shown as the node gave it, and counts only once a call wants it. */
export function previews(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (draw.chance(0.3)) t.restart();
  const id = draw.pick(t.ids);
  if (session.isVendor) {
    showsNone(t, session.preview(id), 'INVALID_REQUEST', 'of a vendor’s key');
    return;
  }
  const outside = [101, 7, 6, 5, 4, 3, 2, 1].find((other) => !t.ids.includes(other))!;
  showsNone(t, session.preview(outside), 'NODE_NOT_PARTICIPANT', 'of a node without a share');
  const calls = Array.from({ length: draw.int(1, callsWaitingMax) }, () => session.preview(id));
  if (calls.length === callsWaitingMax) {
    t.failed(session.preview(id), [CallErrorCode.OVERLOADED], 'when too many previews wait');
  }
  const asked = session.askedOf(id);
  must(
    asked !== undefined && session.asked.length === 1,
    () => `${session.asked.length} nodes are asked for a preview of one`,
  );
  const isWrong = draw.chance(0.4);
  const given = isWrong ? t.key.wrong(id, asked!) : t.key.partial(id, asked!);
  t.unchanged('a preview', () => t.replies(asked!, given));
  for (const call of calls) shows(t, call, given.partial, 'of a node that has answered');
  // The first answer stays its answer.
  t.unchanged('a second answer', () => t.replies(asked!, t.key.wrong(id, asked!)));
  t.unchanged('a preview of a known partial', () =>
    shows(t, session.preview(id), given.partial, 'of a node that has answered'),
  );
  must(session.askedOf(id) === undefined, () => `node ${id} is asked again for a partial that it gave`);
  const counted = t.record(session.id)!.ceremony;
  must(counted.kind === 'signing' && counted.submitted.length === 0, () => 'a preview counts as a partial');
  const isStep = draw.chance(0.5);
  const call = isStep ? session.step(id) : session.gather();
  if (isWrong && session.threshold > 1) {
    if (!isStep) t.serve();
    if (isStep) t.answered(call, 'INVALID_PARTIAL_SIGNATURE', 'when the previewed partial is wrong');
    must(
      session.excluded.join() === `${id}`,
      () => `node ${id} gave a wrong partial in a preview, and is not excluded when it counts`,
    );
    if (!isStep) t.answered(call, 'SIGNATURE_COMPLETED', 'without the node of a wrong preview');
    return;
  }
  if (isWrong) return;
  must(session.askedOf(id) === undefined, () => `node ${id} is asked again for a partial that it gave in a preview`);
  t.serve();
  t.answered(
    call,
    isStep && session.threshold > 1 ? 'SHARE_ACCEPTED' : 'SIGNATURE_COMPLETED',
    'with a previewed partial',
  );
}

/** A node that refuses, or does not answer, has no preview. */
export function noPreviews(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const id = draw.pick(t.ids);
  const call = session.preview(id);
  const asked = session.askedOf(id);
  must(asked !== undefined, () => `node ${id} is not asked for its preview`);
  draw.pick([
    () => {
      t.unchanged('a refusal', () => t.replies(asked, { code: Code.ORDER_EXPIRED }));
      showsNone(t, call, 'ORDER_REFUSED', 'of a node that refuses the order');
      showsNone(t, session.preview(id), 'ORDER_REFUSED', 'of a node that refused the order');
    },
    () => {
      t.unchanged('a refusal', () => t.replies(asked, { code: Code.KEY_UNKNOWN }));
      showsNone(t, call, 'NODES_UNAVAILABLE', 'of a node that refuses');
      showsNone(t, session.preview(id), 'NODES_UNAVAILABLE', 'of a node that refused');
    },
    () => {
      t.linkDown(id);
      showsNone(t, call, 'NODES_UNAVAILABLE', 'of a node that lost its link');
      showsNone(t, session.preview(id), 'NODES_UNAVAILABLE', 'of a node without a link');
    },
    () => {
      t.unchanged('a silence', () => t.took(t.copy.pass(nodesWaitMs)));
      showsNone(t, call, 'NODES_UNAVAILABLE', 'of a silent node');
    },
    () => {
      // Another call wants the signature meanwhile.
      const gather = session.gather();
      t.unchanged('a silence', () => t.took(t.copy.pass(nodesWaitMs / 4)));
      showsNone(t, call, 'NODES_UNAVAILABLE', 'of a silent node');
      t.serve();
      if (session.threshold > 1) t.answered(gather, 'SIGNATURE_COMPLETED', 'beside a preview');
    },
  ])();
}

/** FROST: previews of more nodes than one attempt has, while calls wait or not. */
export function previewsOfAll(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  if (session.threshold === 1 || session.isVendor) return;
  session.opens();
  const gather = draw.chance(0.4) ? session.gather() : undefined;
  const inside = session.asked.map(({ node }) => node);
  const calls = t.ids.map((id) => [id, session.preview(id)] as const);
  const partials = new Map<number, Uint8Array>();
  t.unchanged('previews', () => {
    if (gather) return;
    for (let left = 12; t.asked.length > 0 && left > 0; left -= 1) {
      const [asked] = session.asked;
      const given = t.key.partial(asked!.node, asked!);
      partials.set(asked!.node, given.partial);
      t.replies(asked!, given);
    }
  });
  if (gather) {
    if (session.isFrost) {
      must(
        session.asked.every(({ attempt }) => attempt === 1) && session.asked.every(({ node }) => inside.includes(node)),
        () => 'a preview takes the attempt of a call that waits',
      );
    }
    t.serve();
    t.answered(gather, 'SIGNATURE_COMPLETED', 'beside previews');
    for (const [, call] of calls)
      must(t.reply(call) !== undefined, () => 'a preview gets no answer when its session is complete');
    return;
  }
  for (const [id, call] of calls) {
    must(t.reply(call) !== undefined, () => `the preview of node ${id} gets no answer beside others`);
    if (!session.isFrost) shows(t, call, partials.get(id)!, 'beside others');
  }
  if (session.isFrost) return;
  // As many as sign count.
  const call = session.gather();
  t.answered(call, 'SIGNATURE_COMPLETED', 'when all partials were previewed');
  const ceremony = t.record(session.id)!.ceremony;
  must(
    ceremony.kind === 'signing' && ceremony.submitted.length === session.threshold,
    () => `a signature has the partials of other nodes than ${session.threshold}`,
  );
}
