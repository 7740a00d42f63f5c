/**
 * Trials of a store that refuses a change of a session, loses it, or shows another record: every waiting call gets its answer, and
 * none shows what is not stored. Written from docs/signing-api.md and the codes of coordinator/contract/messages.ts.
 */

import { keyKey, sessionKey } from '../../coordinator/contract/messages.ts';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { must, trialTenant } from '../support/trial.ts';
import type { Call, CoordinatorInTrial } from './coordinator-in-trial.ts';
import { lifetimesMs, shown } from './coordinator-in-trial.ts';
import { PlayedSession } from './played-session.ts';

const { UNAVAILABLE } = CallErrorCode;

/** A write without an answer: calls fail, and the next one sees what is stored. */
export function lostChange(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const calls = Array.from({ length: draw.int(1, 2) }, () => session.gather());
  const inspected = draw.chance(0.5);
  const fate = draw.pick(['lost', 'unanswered'] as const);
  const requests = session.asked;
  for (const asked of requests.slice(1)) t.replies(asked, t.key.partial(asked.node, asked));
  const preview = session.isFrost || !inspected ? undefined : session.preview(requests[0]!.node);
  copy.fates.push(fate);
  const [last] = requests;
  t.replies(last!, t.key.partial(last!.node, last!));
  for (const call of calls) t.failed(call, [UNAVAILABLE], `when the write of its signature was ${fate}`);
  if (preview)
    must(
      t.reply(preview)?.case === 'error',
      () => `a preview is answered ${shown(t.reply(preview))} when a write was ${fate}`,
    );
  const isDone = session.state === ReceiptState.BACKEND_COMPLETED;
  must(isDone === (fate === 'unanswered'), () => `a write was ${fate}, and its session is in state ${session.state}`);
  t.asked = [];
  session.signs(`after a write that was ${fate}`);
}

/** Another coordinator, or a newer session of the intent, has changed the session. */
export function changedElsewhere(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  session.opens();
  if (session.isVendor) return;
  const kind = draw.pick(['gather', 'step', 'late call', 'late preview'] as const);
  const isLate = kind.startsWith('late');
  const call = kind === 'step' ? session.step(t.ids[0]!) : session.gather();
  const also = draw.chance(0.5) ? session.gather() : undefined;
  const requests = session.asked;
  for (const asked of requests.slice(1)) t.replies(asked, t.key.partial(asked.node, asked));
  const { record } = change(t, session);
  const said: Call[] = [];
  if (isLate) {
    t.copy.nowMs += lifetimesMs.signingMs;
    t.copy.holdsWrites = draw.chance(0.5);
    said.push(kind === 'late call' ? session.gather() : session.preview(t.ids[0]!));
    if (t.copy.holdsWrites) {
      t.copy.holdsWrites = false;
      t.took(t.copy.answerHeld());
    }
  } else t.replies(requests[0]!, t.key.partial(requests[0]!.node, requests[0]!));
  if (kind === 'step' && also === undefined && t.ids.length > 1 && session.threshold > 1)
    must(t.reply(call) !== undefined, () => 'a step gets no answer when its session was changed elsewhere');
  for (const each of [call, ...(also ? [also] : [])]) {
    t.answered(each, 'SESSION_REVOKED', 'when its session was ended elsewhere');
  }
  for (const each of said) {
    const reply = t.reply(each);
    const code = reply?.value.reasonCode ?? reply?.value.receipt?.reasonCode;
    must(
      code === 'SESSION_REVOKED' || code === 'SESSION_EXPIRED',
      () => `${each.method} is answered ${shown(reply)} when its session was ended elsewhere`,
    );
  }
  must(t.record(session.id)!.epoch === record.epoch, () => 'a session that was ended elsewhere changes again');
}

/** The stored session ends by another hand. */
function change(t: CoordinatorInTrial, session: PlayedSession): { readonly record: SessionRecord } {
  const before = t.record(session.id)!;
  const record = {
    ...before,
    state: ReceiptState.REVOKED as const,
    reasonCode: 'SESSION_REVOKED' as const,
    epoch: before.epoch + 1,
    checkpointId: 'ckp_00000000-0000-7000-8000-000000000000',
  };
  const { copy } = t;
  const snapshot = copy.store.snapshot();
  const records = new Map(snapshot.records).set(sessionKey(trialTenant, session.id), {
    kind: 'session',
    session: record,
  });
  copy.store.restore({ ...snapshot, records });
  return { record };
}

/** The stored session is not as a coordinator wrote it: no answer uses it. */
export function tamperedSession(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const session = new PlayedSession(t);
  session.opens();
  if (draw.chance(0.5) || session.isVendor) {
    t.restart();
    copy.shown.set(sessionKey(trialTenant, session.id), { kind: 'tampered' });
    t.unchanged('a call about a session that was altered', () => {
      const reply = t.reply(session.gather());
      const { receipt } = reply!.value;
      must(
        receipt?.reasonCode === 'STORE_TAMPERED' && receipt.sessionId === '',
        () => `a call about a session that was altered is answered ${shown(reply)}`,
      );
    });
    const read = t.reply(t.call('readSessions', { sessionId: session.id, kind: '', limit: 1 }));
    must(read?.value.tampered === true, () => `a read of a session that was altered is answered ${shown(read)}`);
    copy.shown.clear();
    return;
  }
  const calls = [session.gather(), session.gather()];
  const preview = session.isFrost ? undefined : session.preview(t.ids[0]!);
  copy.fates.push({ kind: 'conflict', code: 'EPOCH', current: { kind: 'tampered' } });
  t.serve();
  for (const call of calls) {
    const reply = t.reply(call);
    must(
      reply?.value.receipt?.reasonCode === 'STORE_TAMPERED',
      () => `a call of a session that was altered is answered ${shown(reply)}`,
    );
  }
  if (preview) must(t.reply(preview) !== undefined, () => 'a preview of a session that was altered gets no answer');
}

/** The wallet was archived meanwhile: no signature leaves, and the session ends. */
export function closedKey(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const isPaused = draw.chance(0.4);
  const session = new PlayedSession(t, isPaused ? { approvalMode: 2 } : {});
  const { checkpoint } = session.opens(isPaused ? 'HUMAN_APPROVAL_REQUIRED' : 'SESSION_ACCEPTED');
  if (!t.key.record.keyId.startsWith('wal_') || session.isVendor) return;
  const { keyId } = t.key.record;
  const calls = isPaused ? [] : [session.gather(), ...(draw.chance(0.5) ? [session.gather()] : [])];
  const before = copy.store.snapshot();
  copy.store.as(1_000_000).loadNow('');
  copy.store.restore({ ...before, closed: new Set([`open/${trialTenant}/${keyId}`]) });
  if (isPaused) calls.push(session.resume(checkpoint.resumeToken, { humanApprovalWitness: Uint8Array.of(1) }));
  else t.serve();
  for (const call of calls) {
    const reply = t.reply(call);
    const { receipt, isComplete } = reply?.value ?? {};
    must(
      (receipt?.reasonCode === 'SESSION_REVOKED' || receipt?.reasonCode === 'SESSION_NOT_RESUMABLE') && !isComplete,
      () => `a call under a closed key is answered ${shown(reply)}`,
    );
  }
  must(session.state === ReceiptState.REVOKED, () => `a session under a closed key is in state ${session.state}`);
  const next = new PlayedSession(t);
  t.unchanged('a session under a closed key', () => t.answered(next.begin(), 'WALLET_ARCHIVED', 'under a closed key'));
  copy.store.restore({ ...copy.store.snapshot(), closed: new Set() });
}

/** The key was bound to another scheme meanwhile: nothing signs with two. */
export function boundMeanwhile(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  if (t.binding !== '') return;
  const isPaused = draw.chance(0.6);
  const isForced = isPaused && draw.chance(0.5);
  const frost = 4;
  const changes = {
    keystoreType: frost,
    ...(isPaused && (isForced ? { mockDirective: MockDirective.FORCE_BACKEND_FAILED } : {})),
  };
  const session = new PlayedSession(t, changes);
  const name = keyKey(trialTenant, t.key.record.keyId);
  const bind = () => {
    const snapshot = copy.store.snapshot();
    const key = { ...t.key.record, scheme: 'mock_ecdsa', exposed: true } as const;
    copy.store.restore({ ...snapshot, records: new Map(snapshot.records).set(name, { kind: 'key', key }) });
  };
  if (!isForced) {
    copy.holdsWrites = true;
    const call = session.begin();
    bind();
    copy.holdsWrites = false;
    t.took(copy.answerHeld());
    t.answered(call, 'KEYSTORE_MISMATCH', 'when its key was bound to another scheme meanwhile');
    return;
  }
  const { checkpoint } = session.opens('MOCK_FORCED_BACKEND_FAILED');
  copy.holdsWrites = true;
  const call = session.resume(checkpoint.resumeToken);
  bind();
  copy.holdsWrites = false;
  t.took(copy.answerHeld());
  t.answered(call, 'KEYSTORE_MISMATCH', 'when its key was bound to another scheme meanwhile');
  must(
    session.state === ReceiptState.BACKEND_FAILED,
    () => `a refused resume leaves its session in state ${session.state}`,
  );
}

/** A store that cannot be read: calls fail, and have no effect. */
export function unreadable(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const session = new PlayedSession(t);
  session.opens();
  t.restart();
  const isRead = draw.chance(0.4);
  // The actor's own record is read, or the key behind it is not.
  const isKey = !isRead && draw.chance(0.5);
  if (isKey) {
    copy.holdsReads = true;
    const call = session.gather();
    const preview = draw.chance(0.5) ? session.preview(t.ids[0]!) : undefined;
    t.took(copy.answerHeld());
    copy.readsFail = true;
    t.took(copy.answerHeld());
    copy.readsFail = copy.holdsReads = false;
    t.failed(call, [UNAVAILABLE], 'when its key cannot be read');
    if (preview) must(t.reply(preview)?.case === 'error', () => 'a preview whose key cannot be read gets no error');
  } else {
    copy.readsFail = true;
    const call = isRead ? t.call('readSessions', { sessionId: session.id }) : session.gather();
    // A message without a caller is lost.
    if (draw.chance(0.5)) t.took(copy.tell(session.address, { kind: 'expire' }, 'expiry'));
    t.took(copy.pass(1_000));
    copy.readsFail = false;
    t.failed(call, [UNAVAILABLE], 'when the store cannot be read');
    const page = t.reply(t.call('readSessions', { kind: 'signing', limit: 50 }));
    must(page?.value.sessions.length > 0, () => `a page of sessions is answered ${shown(page)}`);
  }
  t.took(copy.pass(3_000));
  if (!session.isVendor) session.signs('when its store can be read again');
}
