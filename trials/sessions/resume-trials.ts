/**
 * Trials of pauses: a human's approval, resume tokens in every order of their faults, and what ends a session from outside. Written
 * from docs/signing-api.md (Resuming, States, Wallets).
 */

import { keyKey } from '../../coordinator/contract/messages.ts';
import { MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { must, trialTenant } from '../support/trial.ts';
import { type CoordinatorInTrial, lifetimesMs, shown } from './coordinator-in-trial.ts';
import { PlayedSession, wish } from './played-session.ts';

const human = 2;
const witness = { humanApprovalWitness: Uint8Array.of(1, 2) };

/** A session that waits for a human, or has failed. */
function paused(t: CoordinatorInTrial, keystoreType = wish(t).keystoreType) {
  const isPending = t.trial.draw.chance(0.6);
  const byWallet = isPending && t.trial.draw.chance(0.3);
  const session = isPending
    ? new PlayedSession(
        t,
        { keystoreType, ...(!byWallet && { approvalMode: human }) },
        byWallet ? { walletTerms: { approvalMode: human } } : {},
      )
    : new PlayedSession(t, { keystoreType, mockDirective: MockDirective.FORCE_BACKEND_FAILED });
  const { checkpoint } = session.opens(isPending ? 'HUMAN_APPROVAL_REQUIRED' : 'MOCK_FORCED_BACKEND_FAILED');
  return { session, isPending, token: checkpoint.resumeToken as string, changes: isPending ? witness : {} };
}

/** Each in its place of the order of checks; nothing is changed, and the token stays good. */
export function wrongResume(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const { session, isPending, token, changes } = paused(t);
  // The key gets one scheme.
  const other = paused(t, session.wish.keystoreType);
  const flipped = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`;
  const refused = (what: string, code: string, given: string, more: object = changes) =>
    t.unchanged(what, () => t.answered(session.resume(given, more), code, `with ${what}`));
  const isKeyless = !isPending && draw.chance(0.3);
  for (let left = draw.int(2, 4); left > 0; left -= 1) {
    draw.pick([
      () => refused('no token', 'INVALID_REQUEST', ''),
      () => refused('a long witness', 'INVALID_REQUEST', token, { humanApprovalWitness: new Uint8Array(65_537) }),
      () => refused('the token of another session', 'RESUME_TOKEN_INVALID', other.token),
      () => refused('a token with a wrong end', 'RESUME_TOKEN_INVALID', flipped),
      () =>
        refused('a token that is none', 'RESUME_TOKEN_INVALID', draw.pick(['rt1_', 'x', token.slice(1), `${token}AA`])),
      () => {
        if (isPending) refused('no witness', 'WITNESS_MISSING', token, {});
      },
      () => {
        copy.shown.set(keyKey(trialTenant, t.key.record.keyId), { kind: 'tampered' });
        t.restart();
        refused('a key that is not as it was written', 'STORE_TAMPERED', token);
        copy.shown.clear();
      },
    ])();
    if (draw.chance(0.2)) t.restart();
  }
  if (isKeyless) return;
  t.unchanged('a step of a paused session', () => {
    const code = isPending ? 'HUMAN_APPROVAL_REQUIRED' : 'MOCK_FORCED_BACKEND_FAILED';
    t.answered(session.gather(), code, 'of a paused session');
    const answer = t.answered(session.step(t.ids[0]!), code, 'of a paused session');
    must(!answer.isComplete && answer.fullSignature.length === 0, () => 'a paused session gives a signature');
  });
  t.answered(session.resume(token, changes), 'SESSION_RESUMED', 'with the right token');
  must(session.state === ReceiptState.RESUMED, () => `a resumed session is in state ${session.state}`);
  if (draw.chance(0.4)) t.restart();
  refused('a used token', 'RESUME_TOKEN_REUSED', token);
  refused('another token in an open session', 'SESSION_NOT_RESUMABLE', other.token);
  if (session.isVendor) return;
  session.signs('after a resume');
  refused('a used token of a complete session', 'RESUME_TOKEN_REUSED', token);
  const late = t.unchanged('another token of a complete session', () =>
    t.answered(session.resume(other.token, changes), 'SESSION_NOT_RESUMABLE', 'of a complete session'),
  );
  must(late.state === ReceiptState.BACKEND_COMPLETED, () => `the answer shows state ${late.state}`);
}

/** The nodes get the order for the witness with the request, and none before. */
export function witnessOrders(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const isEarly = draw.chance(0.5);
  const macs = new Uint8Array(16 * t.trial.nodesTotal).map((_, index) => 101 + Math.floor(index / 16));
  const session = new PlayedSession(
    t,
    { approvalMode: human, ...(isEarly && witness) },
    isEarly ? { witnessMacs: macs } : {},
  );
  const { checkpoint } = session.opens(isEarly ? 'SESSION_ACCEPTED' : 'HUMAN_APPROVAL_REQUIRED');
  if (!isEarly)
    t.answered(
      session.resume(checkpoint.resumeToken, witness, { witnessMacs: macs }),
      'SESSION_RESUMED',
      'with a witness',
    );
  if (draw.chance(0.3)) t.restart();
  session.gather();
  const { asked } = session;
  must(asked.length > 0, () => 'no node is asked after the approval');
  for (const { node, order } of asked) {
    must(
      order !== undefined && order.mac[0] === node && order.witnessMac[0] === 100 + node,
      () => `node ${node} does not get its own order, or not that of its witness`,
    );
  }
}

/** A lifetime ends a paused session as well, and a resume begins another. */
export function pausedForLong(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const { session, isPending, token, changes } = paused(t);
  const lasts = isPending ? lifetimesMs.pendingMs : lifetimesMs.signingMs;
  t.took(t.copy.pass(lasts - 1));
  if (draw.chance(0.5)) {
    t.answered(session.resume(token, changes), 'SESSION_RESUMED', 'in the last millisecond');
    t.took(t.copy.pass(lifetimesMs.signingMs - 1));
    if (!session.isVendor && draw.chance(0.5)) {
      session.signs('in its last millisecond');
      return;
    }
    t.took(t.copy.pass(1));
    t.answered(session.gather(), 'SESSION_EXPIRED', 'past the lifetime of a resume');
    return;
  }
  t.took(t.copy.pass(1));
  t.answered(session.resume(token, changes), 'SESSION_EXPIRED', 'past its lifetime');
  must(session.state === ReceiptState.EXPIRED, () => `an expired session is in state ${session.state}`);
  t.unchanged('a resume of an expired session', () =>
    t.answered(session.resume(token, changes), 'SESSION_EXPIRED', 'of an expired session'),
  );
}

/** A wallet was archived, or became stricter: sessions end in whatever state, and say so. */
export function revoked(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const walletService = draw.chance(0.4);
  const clientsOnly = draw.chance(0.5);
  const isPaused = draw.chance(0.4);
  const session = new PlayedSession(t, isPaused ? { approvalMode: human } : {}, { walletService });
  const opened = session.opens(isPaused ? 'HUMAN_APPROVAL_REQUIRED' : 'SESSION_ACCEPTED');
  const waiting = !isPaused && draw.chance(0.6) ? session.gather() : undefined;
  const { asked } = session;
  if (draw.chance(0.3) && waiting === undefined) t.restart();
  const closing = 'trial/closing';
  const tells = () => {
    t.said = [];
    t.took(t.copy.tell(session.address, { kind: 'revoke', clientsOnly }, closing));
    must(
      t.said.some(({ to, case: kind }) => to === closing && kind === 'ended'),
      () => `a session is told to end, and does not say that it has`,
    );
  };
  const stays = clientsOnly && walletService;
  if (stays) {
    t.unchanged('the end of clients’ sessions', tells);
    if (waiting) t.waits(waiting, 'when clients’ sessions end');
    return;
  }
  tells();
  must(session.state === ReceiptState.REVOKED, () => `a revoked session is in state ${session.state}`);
  if (waiting) t.answered(waiting, 'SESSION_REVOKED', 'when its session ends');
  for (const each of asked.slice(0, 1)) {
    if (!session.isVendor) t.unchanged('a late partial', () => t.replies(each, t.key.partial(each.node, each)));
  }
  t.unchanged('a call about a revoked session', () => {
    tells();
    t.answered(session.gather(), 'SESSION_REVOKED', 'of a revoked session');
    const token = opened.checkpoint.resumeToken as string;
    if (token) t.answered(session.resume(token, witness), 'SESSION_NOT_RESUMABLE', 'of a revoked session');
  });
}

/** What is told to a session that has left the store, or never was. */
export function unknownSession(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  const closing = 'trial/closing';
  const [node] = t.ids;
  t.unchanged('messages to no session', () => {
    t.said = [];
    t.took(t.copy.tell(session.address, { kind: 'revoke', clientsOnly: draw.chance(0.5) }, closing));
    must(
      t.said.some(({ to, case: kind }) => to === closing && kind === 'ended'),
      () => 'no session, and it has not ended',
    );
    t.said = [];
    const settled = { nodeId: node!, outcome: { case: 'partial' as const, value: new Uint8Array(64) } };
    const from = `node/${node}/vendor/${trialTenant}/${'0'.repeat(32)}`;
    t.says(node!, { case: 'vendorSettled', value: settled }, session.address, session.id, from);
    must(
      t.said.some(({ to, case: kind }) => to === from && kind === 'vendorNoted'),
      () => 'a node repeats its vendor’s decision to no session for ever',
    );
    t.took(t.copy.tell(session.address, { kind: 'expire' }, 'expiry'));
    t.answered(session.gather(), 'SESSION_NOT_FOUND', 'about no session');
    const preview = t.reply(session.preview(node!));
    must(
      preview?.value.reasonCode === 'SESSION_NOT_FOUND',
      () => `a preview of no session is answered ${shown(preview)}`,
    );
  });
  session.opens();
}
