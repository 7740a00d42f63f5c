/** Keys: InitiateDkg, then the whole round. Some of the keys sign afterwards. */
import { failureOf } from '../calls/call-failed.ts';
import type { Service } from '../calls/service.ts';
import type { SigningAnswer, SigningCaller, SigningCurve } from '../calls/signing-caller.ts';
import { type Check, Faults } from '../verdict/check.ts';
import { verifyAll } from '../verdict/signatures.ts';
import { each, pause } from './at-once.ts';
import { type Operation, Unexpected } from './operation.ts';
import { freshText } from './sign.ts';

const keysTried = 20;
const settledAtOnce = 4;
const settleEveryMs = 250;

export function keyOperation(
  door: SigningCaller,
  service: Service,
  name: () => string,
  curve: SigningCurve = 'secp256k1',
): Operation {
  const faults = new Faults();
  const open = new Set<string>();
  const made: string[] = [];

  const receipt = (call: string, { receiptId, sessionId }: SigningAnswer) => {
    if (receiptId === '') faults.add(`${call} ${sessionId}: an answer without a receipt`);
  };

  async function finish(sessionId: string, exchange: () => Promise<SigningAnswer>): Promise<void> {
    const done = await exchange();
    receipt('ExchangeDkgShares', done);
    if (done.reasonCode !== 'DKG_COMPLETED') {
      if (done.resumeToken === '') open.delete(sessionId);
      throw new Unexpected(done.reasonCode);
    }
    open.delete(sessionId);
    made.push(sessionId);
  }

  /** As a patient client: the same session again, resumed where it paused. */
  async function insist(sessionId: string): Promise<void> {
    const begun = await door.initiateDkg(sessionId, curve);
    receipt('InitiateDkg', begun);
    if (begun.resumeToken !== '') receipt('ResumeSession', await door.resume(sessionId, begun.resumeToken));
    await finish(sessionId, () => door.exchangeShares(sessionId));
  }

  async function trySome(): Promise<number> {
    const every = Math.max(1, Math.ceil(made.length / keysTried));
    const tried = made.filter((_, index) => index % every === 0);
    await each(tried, settledAtOnce, async (walletId) => {
      try {
        const publicKey = await service.publicKey(walletId);
        const { text, message } = freshText(curve);
        const begun = await door.initiateSigning(name(), walletId, message);
        const { sessionId, signature, recoveryId, reasonCode } = await door.submitShare(begun.sessionId);
        const key = { walletId, curve, publicKey };
        const { verified } = verifyAll([{ key, text, message, sessionId, signature, recoveryId }]);
        if (verified !== 1) faults.add(`${walletId}: its signature does not verify (${reasonCode})`);
      } catch (error) {
        faults.add(`${walletId}: it does not sign: ${failureOf(error).code}`);
      }
    });
    return tried.length;
  }

  return {
    async run(observe) {
      const sessionId = name();
      open.add(sessionId);
      const begun = await observe('InitiateDkg', () => door.initiateDkg(sessionId, curve)).catch((error: unknown) => {
        if (failureOf(error).effect === 'none') open.delete(sessionId);
        throw error;
      });
      receipt('InitiateDkg', begun);
      if (begun.reasonCode !== 'SESSION_ACCEPTED') {
        open.delete(sessionId);
        throw new Unexpected(begun.reasonCode);
      }
      await finish(sessionId, () => observe('ExchangeDkgShares', () => door.exchangeShares(sessionId)));
    },
    async settle(untilMs) {
      while (open.size > 0) {
        await each([...open], settledAtOnce, (sessionId) => insist(sessionId).catch(() => undefined));
        if (open.size === 0 || performance.now() > untilMs) return;
        await pause(settleEveryMs);
      }
    },
    async checks(): Promise<readonly Check[]> {
      for (const sessionId of open) faults.add(`${sessionId}: no final receipt`);
      const tried = await trySome();
      return [faults.check('keys', `${made.length} keys made, ${tried} of them tried by a signature`)];
    },
    close: async () => undefined,
  };
}
