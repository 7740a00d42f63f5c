/**
 * Trials of a session whose key is at a vendor: the order opens, the vendor decides at any later time, and strange messages about
 * it come from other nodes or sessions. Written from docs/keystores.md (MPC_VENDOR) and docs/signing-api.md.
 */
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { must, trialTenant } from '../support/trial.ts';
import { type Asked, type Call, type CoordinatorInTrial, lifetimesMs } from './coordinator-in-trial.ts';
import { PlayedSession } from './played-session.ts';

const reference = '0123456789abcdef'.repeat(2);
const outcomes = [
  [Code.VENDOR_REJECTED, 'VENDOR_REJECTED'],
  [Code.VENDOR_CANCELLED, 'VENDOR_CANCELLED'],
  [Code.VENDOR_SIGNATURE_INVALID, 'VENDOR_SIGNATURE_INVALID'],
  [Code.VENDOR_UNAVAILABLE, 'VENDOR_UNAVAILABLE'],
  [Code.VENDOR_EXPIRED, 'SESSION_EXPIRED'],
] as const;

function orderFrom(id: number): string {
  return `node/${id}/vendor/${trialTenant}/${reference}`;
}

/** The node of the order says what the vendor decided. Returns whether the session has acknowledged it. */
function settles(session: PlayedSession, id: number, outcome: WireBodyInit['value'], from = orderFrom(id)): boolean {
  const { t } = session;
  t.said = [];
  const body = { case: 'vendorSettled', value: { nodeId: id, outcome } } as unknown as WireBodyInit;
  t.says(id, body, session.address, session.id, from);
  return t.said.some(({ to, case: kind }) => to === from && kind === 'vendorNoted');
}

/** The session has an order at the vendor, and its call has an answer. */
function ordered(t: CoordinatorInTrial): { session: PlayedSession; asked: Asked; id: number } {
  const session = new PlayedSession(t);
  session.opens();
  const [id] = t.ids;
  const calls: Call[] = [t.trial.draw.chance(0.5) ? session.step(id!) : session.gather()];
  if (t.trial.draw.chance(0.5)) calls.push(session.gather());
  const [asked] = session.asked;
  must(asked !== undefined, () => 'no node is asked for the order at the vendor');
  const expiresEpochMs = BigInt(t.copy.nowMs + 3_600_000);
  if (t.trial.draw.chance(0.3)) {
    t.unchanged('a reference that is none', () =>
      t.replies(asked, {
        vendorOrder: { reference: t.trial.draw.pick(['', 'x', '../../x', reference.toUpperCase()]), expiresEpochMs },
      }),
    );
    for (const call of calls) t.waits(call, 'by an order without a name');
    // The node owes no answer now: the next call asks it again.
    t.asked = [];
    t.took(t.copy.pass(1_000));
  }
  const request = session.askedOf(id!) ?? asked;
  t.replies(request, { vendorOrder: { reference, expiresEpochMs } });
  for (const call of calls) t.answered(call, 'VENDOR_ORDER_OPEN', 'when the vendor has the order');
  const record = t.record(session.id)!;
  must(
    record.state === ReceiptState.ACCEPTED && record.expiresMs === Number(expiresEpochMs),
    () => `a session with an order is in state ${record.state}, until ${record.expiresMs}`,
  );
  return { session, asked: request, id: id! };
}

export function vendorOrders(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  if (!t.binding.startsWith('vendor')) {
    notAtVendor(t);
    return;
  }
  const { session, asked, id } = ordered(t);
  const { partial } = t.key.partial(id, asked);
  if (draw.chance(0.4)) {
    // The same order again changes nothing.
    t.unchanged('the same order', () => {
      const call = session.gather();
      const again = session.askedOf(id);
      must(again !== undefined, () => 'the node is not asked about its order again');
      const expiresEpochMs = BigInt(t.record(session.id)!.expiresMs);
      t.replies(again, { vendorOrder: { reference, expiresEpochMs } });
      t.answered(call, 'VENDOR_ORDER_OPEN', 'of an open order');
    });
  }
  if (draw.chance(0.4)) {
    const stranger = [101, 7, 6, 5, 4, 3, 2, 1].find((other) => other !== id)!;
    t.unchanged('a decision in another’s name', () => {
      settles(session, stranger, { case: 'partial', value: partial } as never);
      settles(session, id, { case: 'partial', value: partial } as never, orderFrom(stranger));
    });
  }
  // From its record, without a call, and before the key was read.
  const isLate = draw.chance(0.5);
  if (isLate) t.restart();
  const waiting = !isLate && draw.chance(0.4) ? session.gather() : undefined;
  if (draw.chance(0.5)) {
    const signed = settles(session, id, { case: 'partial', value: partial } as never);
    must(signed, () => 'a session does not acknowledge the vendor’s signature');
    must(
      session.state === ReceiptState.BACKEND_COMPLETED,
      () => `a session whose vendor has signed is in state ${session.state}`,
    );
    if (waiting) t.answered(waiting, 'SIGNATURE_COMPLETED', 'when the vendor has signed');
    const answer = t.answered(session.gather(), 'SIGNATURE_COMPLETED', 'when the vendor has signed');
    must(answer.isComplete, () => 'a session whose vendor has signed gives no signature');
    t.unchanged('a repeated decision', () =>
      must(
        settles(session, id, { case: 'partial', value: partial } as never),
        () => 'a repeated decision is not acknowledged',
      ),
    );
    return;
  }
  if (draw.chance(0.3)) {
    const wrong = t.key.wrong(id, asked).partial;
    settles(session, id, { case: 'partial', value: wrong } as never);
    must(
      session.excluded.join() === `${id}`,
      () => `node ${id} gives a wrong signature of its vendor, and is not excluded`,
    );
    t.unchanged('a decision of an excluded node', () =>
      settles(session, id, { case: 'partial', value: partial } as never),
    );
    return;
  }
  const [code, reason] = draw.pick(outcomes);
  const noted = settles(session, id, { case: 'refusal', value: { code, message: 'as the trial says' } } as never);
  must(noted, () => `a session does not acknowledge the vendor’s decision ${Code[code]}`);
  const state = code === Code.VENDOR_EXPIRED ? ReceiptState.EXPIRED : ReceiptState.BACKEND_FAILED;
  must(session.state === state, () => `a session whose vendor decided ${Code[code]} is in state ${session.state}`);
  if (waiting) t.answered(waiting, reason, `when its vendor decided ${Code[code]}`);
  t.unchanged('a call after the decision', () =>
    t.answered(session.gather(), reason, `when its vendor decided ${Code[code]}`),
  );
}

/** A session that ends before the vendor decides cancels its order. */
export function cancelledOrder(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  if (!t.binding.startsWith('vendor')) return;
  const { session, asked, id } = ordered(t);
  t.said = [];
  const isRevoked = draw.chance(0.5);
  if (isRevoked)
    t.took(t.copy.tell(session.address, { kind: 'revoke', clientsOnly: false }, `closing/${trialTenant}/x`));
  else {
    t.copy.nowMs = t.record(session.id)!.expiresMs;
    t.answered(session.gather(), 'SESSION_EXPIRED', 'past the lifetime of its order');
  }
  must(
    t.said.some(({ to, case: kind }) => to === orderFrom(id) && kind === 'vendorCancel'),
    () => 'a session that ends does not cancel its order at the vendor',
  );
  const { partial } = t.key.partial(id, asked);
  t.unchanged('a decision after the end', () =>
    must(
      settles(session, id, { case: 'partial', value: partial } as never),
      () => 'a decision after the end is not acknowledged',
    ),
  );
  must(
    t.record(session.id)!.state !== ReceiptState.BACKEND_COMPLETED,
    () => 'an ended session takes its vendor’s signature',
  );
}

/** While a call waits for the node, the vendor's refusal comes as the node's. */
export function refusedOrder(t: CoordinatorInTrial): void {
  if (!t.binding.startsWith('vendor')) return;
  const session = new PlayedSession(t);
  session.opens();
  const call = session.gather();
  const [asked] = session.asked;
  t.replies(asked!, { code: Code.VENDOR_EXPIRED });
  t.answered(call, 'SESSION_EXPIRED', 'when its order is over at the vendor');
  must(session.state === ReceiptState.EXPIRED, () => `a session whose order is over is in state ${session.state}`);
}

/** Nodes of other keys have no orders: what they say of them is a refusal, and decides nothing. */
function notAtVendor(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  const call = session.gather();
  const { asked } = session;
  const [first] = asked;
  const { partial } = t.key.partial(first!.node, first!);
  t.unchanged('a vendor’s decision about another key', () => {
    settles(session, first!.node, { case: 'partial', value: partial } as never);
    settles(session, first!.node, { case: 'refusal', value: { code: Code.VENDOR_EXPIRED, message: '' } } as never);
    const says = draw.chance(0.5)
      ? { vendorOrder: { reference, expiresEpochMs: BigInt(t.copy.nowMs + lifetimesMs.signingMs) } }
      : { code: Code.VENDOR_EXPIRED };
    t.replies(first!, says);
  });
  t.waits(call, 'by a vendor’s order of another key');
  if (session.threshold === 1) return;
  t.serve();
  t.answered(call, 'SIGNATURE_COMPLETED', 'after a vendor’s order of another key');
}
