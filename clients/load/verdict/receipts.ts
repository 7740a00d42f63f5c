/**
 * Checks the answers of the signing API, call by call: every answer has its own receipt, every intent that the service may have
 * accepted ends with a receipt, and no intent has two signatures. signatures.ts verifies the signatures themselves, by libraries
 * that did not make them.
 */
import type { SigningAnswer } from '../calls/signing-caller.ts';
import { type Check, Faults } from './check.ts';
import { type ClusterKey, type Evidence, type SignatureVerdict, verifyAll } from './signatures.ts';

/** An intent whose end the caller does not know yet. */
export interface OpenIntent {
  readonly intentId: string;
  readonly key: ClusterKey;
  readonly text: Uint8Array;
  readonly message: Uint8Array;
}

interface Ended {
  readonly sessionId: string;
  readonly signature: Uint8Array;
}

export class ReceiptChecks {
  readonly #receipts = new Set<string>();
  readonly #receiptFaults = new Faults();
  readonly #intentFaults = new Faults();
  readonly #open = new Map<string, OpenIntent>();
  readonly #signed = new Map<string, Ended>();
  readonly #evidence: Evidence[] = [];
  #refused = 0;
  #failed = 0;

  /** Before the first call that may have an effect. */
  opened(intent: OpenIntent): void {
    this.#open.set(intent.intentId, intent);
  }

  /** Every answer of the signing API, in any order. */
  answered(call: string, { receiptId, sessionId }: SigningAnswer): void {
    if (receiptId === '') this.#receiptFaults.add(`${call} ${sessionId}: an answer without a receipt`);
    else if (this.#receipts.has(receiptId)) this.#receiptFaults.add(`${call} ${sessionId}: ${receiptId} came twice`);
    else this.#receipts.add(receiptId);
  }

  /** The service did nothing for this intent, and reported so. */
  refused(intentId: string): void {
    this.#open.delete(intentId);
    this.#refused += 1;
  }

  /** A final receipt without a signature. */
  failed(intentId: string): void {
    this.#open.delete(intentId);
    this.#failed += 1;
  }

  /** SIGNATURE_COMPLETED, for the first time or for a repeated request. */
  signed(intent: OpenIntent, sessionId: string, signature: Uint8Array, recoveryId: number): void {
    const { intentId, key, text, message } = intent;
    this.#open.delete(intentId);
    const before = this.#signed.get(intentId);
    if (before === undefined) {
      this.#signed.set(intentId, { sessionId, signature });
      this.#evidence.push({ key, text, message, sessionId, signature, recoveryId });
    } else if (before.sessionId !== sessionId || Buffer.compare(before.signature, signature) !== 0) {
      this.#intentFaults.add(`${intentId}: a second signature, ${sessionId} after ${before.sessionId}`);
    }
  }

  /** Intents without an end so far. */
  get open(): readonly OpenIntent[] {
    return [...this.#open.values()];
  }

  /** Some of the signed intents, evenly over the run. */
  sample(count: number): readonly (readonly [intentId: string, sessionId: string])[] {
    const all = [...this.#signed];
    const every = Math.max(1, Math.ceil(all.length / count));
    return all.filter((_, index) => index % every === 0).map(([intentId, { sessionId }]) => [intentId, sessionId]);
  }

  /** The service no longer knows an intent that it has signed. */
  forgotten(intentId: string, said: string): void {
    this.#intentFaults.add(`${intentId}: signed before, and now ${said}`);
  }

  checks(): readonly Check[] {
    for (const { intentId } of this.#open.values()) this.#receiptFaults.add(`${intentId}: no final receipt`);
    const verdict = verifyAll(this.#evidence);
    return [
      signatureCheck(verdict),
      this.#receiptFaults.check(
        'receipts',
        `${this.#receipts.size} receipts, none twice; of ${this.#signed.size + this.#failed + this.#refused + this.#open.size} intents ${this.#signed.size} signed, ${this.#failed} failed, ${this.#refused} refused, ${this.#open.size} without an end`,
      ),
      this.#intentFaults.check('intents', `${this.#signed.size} intents, one signature each`),
    ];
  }
}

export function signatureCheck({ signatures, verified, sampled, faults, seconds }: SignatureVerdict): Check {
  return {
    name: 'signatures',
    holds: verified === signatures && faults.length === 0,
    text: `${verified} of ${signatures} verify (OpenSSL; ${sampled} by @noble/curves too) in ${seconds.toFixed(1)} s`,
    faults,
  };
}
