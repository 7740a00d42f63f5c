/** The verdict on keys that the load made: each planted violation is found. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { LoadCallFailed } from '../../../clients/load/calls/call-failed.ts';
import type { Service } from '../../../clients/load/calls/service.ts';
import type { SignedAnswer, SigningAnswer, SigningCaller } from '../../../clients/load/calls/signing-caller.ts';
import { keyOperation } from '../../../clients/load/operations/key.ts';

/** A service that makes keys and signs with them as it should, but for what a test replaces. */
class Played {
  readonly secrets = new Map<string, Uint8Array>();
  readonly #signing = new Map<string, { readonly walletId: string; readonly message: Uint8Array }>();
  #receipts = 0;
  #names = 0;

  answer(sessionId: string, reasonCode: string, more: Partial<SigningAnswer> = {}): SigningAnswer {
    this.#receipts += 1;
    return { sessionId, reasonCode, receiptId: `rcp_${this.#receipts}`, resumeToken: '', ...more };
  }

  readonly door: SigningCaller = {
    initiateDkg: async (sessionId) => this.answer(sessionId, 'SESSION_ACCEPTED', { resumeToken: 'resume' }),
    exchangeShares: async (sessionId) => {
      this.secrets.set(sessionId, secp256k1.utils.randomSecretKey());
      return this.answer(sessionId, 'DKG_COMPLETED');
    },
    resume: async (sessionId) => this.answer(sessionId, 'SESSION_RESUMED'),
    initiateSigning: async (intentId, walletId, message) => {
      this.#signing.set(`sig_${intentId}`, { walletId, message });
      return this.answer(`sig_${intentId}`, 'SESSION_ACCEPTED');
    },
    submitShare: async (sessionId): Promise<SignedAnswer> => {
      const { walletId, message } = this.#signing.get(sessionId)!;
      const options = { prehash: false, format: 'recovered' } as const;
      const [recoveryId, ...signature] = secp256k1.sign(message, this.secrets.get(walletId)!, options);
      const done = this.answer(sessionId, 'SIGNATURE_COMPLETED');
      return { ...done, signature: Uint8Array.from(signature), recoveryId: recoveryId! };
    },
    close: async () => undefined,
  };

  readonly service = {
    publicKey: async (walletId: string) => secp256k1.getPublicKey(this.secrets.get(walletId)!),
  } as unknown as Service;

  /** Makes so many keys, settles, and gives the faults of the verdict. */
  async load(count: number): Promise<readonly string[]> {
    const name = () => {
      this.#names += 1;
      return `n${this.#names}`;
    };
    const operation = keyOperation(this.door, this.service, name);
    for (let made = 0; made < count; made += 1) await operation.run((_, call) => call()).catch(() => undefined);
    await operation.settle(0);
    const [check, ...others] = await operation.checks();
    expect([check!.name, others]).toEqual(['keys', []]);
    expect(check!.holds).toBe(check!.faults.length === 0);
    return check!.faults;
  }
}

const lost = () => Promise.reject(new LoadCallFailed({ code: 'ECONNRESET', effect: 'unknown' }));

describe('the verdict on keys', () => {
  test('holds for keys that sign, for calls that were refused, and for one that is made when it is asked for again', async () => {
    const played = new Played();
    const { initiateDkg, exchangeShares } = played.door;
    const refusals = [
      () => Promise.reject(new LoadCallFailed({ code: '429 RATE_LIMITED', effect: 'none' })),
      async () => played.answer('n2', 'THRESHOLD_OUT_OF_RANGE'),
    ];
    played.door.initiateDkg = (...call) => refusals.shift()?.() ?? initiateDkg(...call);
    let isLost = true;
    played.door.exchangeShares = async (...call) => {
      const done = await exchangeShares(...call);
      const isFirst = isLost;
      isLost = false;
      return isFirst ? lost() : done;
    };
    expect(await played.load(4)).toEqual([]);
    expect(played.secrets.size).toBe(2);
  });

  test('finds a key without a final receipt', async () => {
    const played = new Played();
    played.door.exchangeShares = lost;
    expect(await played.load(1)).toEqual(['n1: no final receipt']);
  });

  test('finds an answer without a receipt, of each call', async () => {
    for (const call of ['initiateDkg', 'exchangeShares'] as const) {
      const played = new Played();
      const right: (...words: never[]) => Promise<SigningAnswer> = played.door[call];
      played.door[call] = async (...words: unknown[]) => ({ ...(await right(...(words as never[]))), receiptId: '' });
      const name = call === 'initiateDkg' ? 'InitiateDkg' : 'ExchangeDkgShares';
      expect(await played.load(1)).toEqual([`${name} n1: an answer without a receipt`]);
    }
  });

  test('finds a key that does not sign', async () => {
    const played = new Played();
    played.door.initiateSigning = lost;
    expect(await played.load(1)).toEqual(['n1: it does not sign: ECONNRESET']);
  });

  test('finds a key whose signature does not verify', async () => {
    const played = new Played();
    played.service.publicKey = async () => secp256k1.getPublicKey(secp256k1.utils.randomSecretKey());
    expect(await played.load(1)).toEqual(['n1: its signature does not verify (SIGNATURE_COMPLETED)']);
  });

  test('tries twenty of many keys', async () => {
    const played = new Played();
    const { initiateSigning } = played.door;
    const tried = new Set<string>();
    played.door.initiateSigning = (intentId, walletId, message) => {
      tried.add(walletId);
      return initiateSigning(intentId, walletId, message);
    };
    expect(await played.load(60)).toEqual([]);
    expect(tried.size).toBe(20);
  });
});
