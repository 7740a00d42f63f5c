/** Signatures: InitiateSigning, then SubmitSignatureShare of a live quorum. One intent and one message each. */
import { createHash, randomBytes } from 'node:crypto';
import { failureOf } from '../calls/call-failed.ts';
import type { SigningCaller, SigningCurve } from '../calls/signing-caller.ts';
import { type OpenIntent, ReceiptChecks } from '../verdict/receipts.ts';
import type { ClusterKey } from '../verdict/signatures.ts';
import { each, pause } from './at-once.ts';
import { type Observe, type Operation, Unexpected } from './operation.ts';

/** Signed intents that it requests again after the load. */
const askedAgain = 100;
const settledAtOnce = 16;
const settleEveryMs = 250;

/** A new text, and the service's input for it. */
export function freshText(curve: SigningCurve): { readonly text: Uint8Array; readonly message: Uint8Array } {
  const text = randomBytes(32);
  return { text, message: curve === 'ed25519' ? text : createHash('sha256').update(text).digest() };
}

/** `name` makes every intent's name unique. The caller closes the door. */
export function signOperation(
  door: SigningCaller,
  key: ClusterKey,
  name: () => string,
  record: ReceiptChecks = new ReceiptChecks(),
): Operation {
  const fresh = (): OpenIntent => ({ intentId: name(), key, ...freshText(key.curve) });

  async function run(observe: Observe): Promise<void> {
    const intent = fresh();
    record.opened(intent);
    const begun = await observe('InitiateSigning', () =>
      door.initiateSigning(intent.intentId, key.walletId, intent.message),
    ).catch((error: unknown) => {
      if (failureOf(error).effect === 'none') record.refused(intent.intentId);
      throw error;
    });
    record.answered('InitiateSigning', begun);
    if (begun.reasonCode !== 'SESSION_ACCEPTED') {
      // Without a session the service accepted nothing; with one, settling learns its outcome.
      if (begun.sessionId === '') record.refused(intent.intentId);
      throw new Unexpected(begun.reasonCode);
    }
    await submit(intent, begun.sessionId, observe);
  }

  async function submit(intent: OpenIntent, sessionId: string, observe: Observe): Promise<void> {
    const signed = await observe('SubmitSignatureShare', () => door.submitShare(sessionId));
    record.answered('SubmitSignatureShare', signed);
    if (signed.reasonCode !== 'SIGNATURE_COMPLETED') {
      if (signed.resumeToken === '' && signed.sessionId !== '') record.failed(intent.intentId);
      throw new Unexpected(signed.reasonCode);
    }
    record.signed(intent, sessionId, signed.signature, signed.recoveryId);
  }

  /** As a patient client: the same intent again, and its session resumed where it paused. */
  async function insist(intent: OpenIntent): Promise<void> {
    const begun = await door.initiateSigning(intent.intentId, key.walletId, intent.message);
    record.answered('InitiateSigning', begun);
    if (begun.sessionId === '') {
      record.refused(intent.intentId);
      return;
    }
    if (begun.resumeToken !== '')
      record.answered('ResumeSession', await door.resume(begun.sessionId, begun.resumeToken));
    await submit(intent, begun.sessionId, (_, call) => call());
  }

  /** The service must give the same session and the same signature again. */
  async function askAgain(intentId: string, sessionId: string): Promise<void> {
    const again = await door.submitShare(sessionId);
    record.answered('SubmitSignatureShare', again);
    if (again.reasonCode !== 'SIGNATURE_COMPLETED') record.forgotten(intentId, again.reasonCode);
    else record.signed({ ...fresh(), intentId }, again.sessionId || sessionId, again.signature, again.recoveryId);
  }

  return {
    run,
    async settle(untilMs) {
      while (record.open.length > 0) {
        await each(record.open, settledAtOnce, (intent) => insist(intent).catch(() => undefined));
        if (record.open.length === 0 || performance.now() > untilMs) break;
        await pause(settleEveryMs);
      }
      await each(record.sample(askedAgain), settledAtOnce, ([intentId, sessionId]) =>
        askAgain(intentId, sessionId).catch((error: unknown) => record.forgotten(intentId, failureOf(error).code)),
      );
    },
    checks: async () => record.checks(),
    close: async () => undefined,
  };
}
