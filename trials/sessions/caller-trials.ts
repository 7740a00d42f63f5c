/**
 * Trials of who may call the coordinator, and how much: nodes in place of gateways, clients in place of the wallet service, a sandbox's
 * calls outside of one, sessions without an order, and more calls than a session's mailbox takes. Written from docs/wire.md,
 * docs/trust.md and docs/signing-api.md.
 */
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { must, trialTenant } from '../support/trial.ts';
import { type CoordinatorInTrial, callsWaitingMax } from './coordinator-in-trial.ts';
import { PlayedSession } from './played-session.ts';

const { MALFORMED, OVERLOADED } = CallErrorCode;

/** A node makes a call: it gets no answer, and has no effect. */
export function callOfNode(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  const request = { case: 'initiateSigning', value: session.wish };
  const value = { callId: 1_000_000n, request, walletService: true, order: t.order(session.id) };
  t.unchanged('a call of a node', () => {
    const message = { tenant: trialTenant, session: '', attempt: 0, body: { case: 'call', value } as WireBodyInit };
    const sent = t.copy.tell('coordinator', message, `node/${t.ids[0]}`);
    must(sent.length === 0, () => `a call of a node brings about ${sent.length} messages`);
  });
  session.opens();
}

/** Calls that only the wallet service makes, by a client; and calls of the wallet service about what is none of its keys. */
export function walletCalls(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const wallet = `wal_${t.newSession()}`;
  const terms = { threshold: 2, totalNodes: 2, derivation: { curve: 'secp256k1' } };
  const closing = (keyId: string) => ({ keyId, revokeOnly: draw.chance(0.5) });
  const service = { walletService: true };
  const refused = draw.pick([
    () => t.call('makeKey', { ...terms, sessionId: wallet }),
    () => t.call('sign', new PlayedSession(t).wish, { order: t.order(t.newSession()) }),
    () => t.call('closeKey', closing(wallet)),
    () => t.call('closeKey', closing(draw.pick(['mine', 'dkg_mine', 'wal_x y', ''])), service),
  ]);
  const call = t.unchanged('a call of the wallet service', refused);
  t.failed(call, [MALFORMED], 'by another caller, or about no key of a wallet');
  t.unchanged('a key of no wallet', () => {
    const made = t.call('makeKey', { ...terms, sessionId: draw.pick(['mine', 'sig_mine', 'dkg_mine']) }, service);
    t.answered(made, 'INVALID_REQUEST', 'for a key that is not of a wallet');
  });
}

/** Outside of a sandbox nothing shows what is in a session. */
export function noSandbox(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  t.unchanged('a call of a sandbox', () => {
    t.failed(session.preview(t.ids[0]!), [MALFORMED], 'outside of a sandbox');
    t.failed(t.call('inspectSession', { sessionId: session.id }), [MALFORMED], 'outside of a sandbox');
  });
  must(session.asked.length === 0, () => 'a node is asked for a preview outside of a sandbox');
  if (!session.isVendor) session.signs('outside of a sandbox');
}

/** No gateway ordered the session: it opens, and no node gets an order, so that none signs. */
export function unordered(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t, {}, { order: undefined });
  const { signingSessionId } = t.answered(session.begin(), 'SESSION_ACCEPTED', 'without an order');
  const call = t.call('submitSignatureShare', { signingSessionId });
  const left = t.ids.length - session.threshold + 1;
  for (let count = 0; count < left; count += 1) {
    const asked = t.asked.filter((one) => one.session === signingSessionId).at(-1);
    must(asked !== undefined && asked.order === undefined, () => 'a node gets an order that no gateway gave');
    t.replies(asked, { code: Code.ORDER_MISSING });
    t.asked = t.asked.filter(({ node }) => node !== asked.node);
  }
  t.answered(call, 'ORDER_REFUSED', 'when nodes refuse a session without an order');
  must(
    t.record(signingSessionId)!.state === ReceiptState.BACKEND_FAILED,
    () => 'a session without an order does not pause',
  );
}

/** More calls than the mailbox of a session takes while its record is read: each has its answer. */
export function fullMailbox(t: CoordinatorInTrial): void {
  const session = new PlayedSession(t);
  session.opens();
  t.restart();
  t.copy.holdsReads = true;
  const calls = Array.from({ length: mailboxMax + 10 }, () =>
    t.post('submitSignatureShare', { signingSessionId: session.id }),
  );
  t.took(t.copy.settle());
  t.copy.holdsReads = false;
  t.took(t.copy.answerHeld());
  const waiting = calls.filter((call) => t.reply(call) === undefined);
  must(
    waiting.length === callsWaitingMax,
    () => `${calls.length} calls come at once, and ${waiting.length} have no answer`,
  );
  for (const call of calls) if (!waiting.includes(call)) t.failed(call, [OVERLOADED], 'when too many calls wait');
}

/** Of a signing session: coordinator/signing/session.ts. */
const mailboxMax = 256;
