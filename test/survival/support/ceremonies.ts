/**
 * A client that does not give up: it repeats what was not answered, resumes what says that it can be resumed, and goes
 * on until key or signature is there. Everything it is told goes into the ledger.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { KeystoreType, ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type Answer, type HttpApi, repeated } from '../../support/client.ts';
import { patienceMs } from '../../support/until.ts';
import type { Ledger } from './ledger.ts';

export type Curve = 'secp256k1' | 'ed25519';

export interface Key {
  readonly sessionId: string;
  readonly curve: Curve;
  /** Compressed. */
  readonly publicKey: Uint8Array;
}

export type Scheme = 'mockEcdsa' | 'bip340' | 'ed25519';

export const curveOf: Readonly<Record<Scheme, Curve>> = {
  mockEcdsa: 'secp256k1',
  bip340: 'secp256k1',
  ed25519: 'ed25519',
};

/** Verified by an independent library. */
export function verifies(scheme: Scheme, publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  switch (scheme) {
    case 'mockEcdsa':
      return secp256k1.verify(signature, message, publicKey, { prehash: false, lowS: true });
    case 'bip340':
      return schnorr.verify(signature, message, publicKey.subarray(1));
    case 'ed25519':
      return ed25519.verify(signature, message, publicKey);
  }
}

export interface Persistence {
  readonly api: HttpApi;
  readonly ledger: Ledger;
}

export interface KeyWish {
  readonly sessionId: string;
  readonly curve: Curve;
  readonly threshold?: number;
  readonly totalNodes?: number;
}

export async function openDkg(client: Persistence, wish: KeyWish): Promise<void> {
  const { api, ledger } = client;
  const { sessionId, curve, threshold = 0, totalNodes = 0 } = wish;
  const opened = await repeated(() => api.initiateDkg({ sessionId, threshold, totalNodes, derivation: { curve } }));
  const { reasonCode, message } = opened.receipt!;
  // A replay: the answer to the first attempt was lost.
  if (reasonCode !== 'SESSION_ACCEPTED' && reasonCode !== 'DUPLICATE_SESSION')
    throw new Error(`${reasonCode} ${message}`);
  ledger.told('dkg', sessionId);
  ledger.first(sessionId, opened);
}

/** A whole DKG. Rejects when it is not done in time, or ends otherwise. */
export async function makeKey(client: Persistence, wish: KeyWish): Promise<Key> {
  await openDkg(client, wish);
  return finishDkg(client, wish);
}

export async function finishDkg(client: Persistence, { sessionId, curve }: KeyWish): Promise<Key> {
  await goOn(client, sessionId, () => client.api.exchangeDkgShares({ sessionId }));
  return { sessionId, curve, publicKey: Buffer.from(await readKey(client, sessionId), 'hex') };
}

/** The group key of a completed session, as hex. */
export async function readKey({ api, ledger }: Persistence, sessionId: string): Promise<string> {
  const publicKey = await repeated(() => api.publicKeyOf(sessionId));
  if (publicKey === null) throw new Error(`${sessionId} is complete without a key`);
  ledger.toldKey(sessionId, publicKey);
  return publicKey;
}

export interface SignatureWish {
  readonly key: Key;
  readonly scheme: Scheme;
  readonly intentId: string;
  readonly message: Uint8Array;
}

/** Opens a signing session and returns its id: the first one's, when the answer to an earlier attempt was lost. */
export async function openSigning(client: Persistence, wish: SignatureWish): Promise<string> {
  const { api, ledger } = client;
  const { key, scheme, intentId, message } = wish;
  const opened = await repeated(() =>
    api.initiateSigning({
      transactionIntentId: intentId,
      walletId: key.sessionId,
      messageHash: message,
      keystoreType: scheme === 'bip340' ? KeystoreType.MPC_FROST : KeystoreType.MOCK_THRESHOLD,
    }),
  );
  const { reasonCode, sessionId: named } = opened.receipt!;
  const known = reasonCode === 'DUPLICATE_INTENT';
  if (reasonCode !== 'SESSION_ACCEPTED' && !known) throw new Error(`${reasonCode} ${opened.receipt!.message}`);
  const sessionId = known ? named : opened.signingSessionId;
  ledger.told('signing', sessionId, intentId, (signature) => verifies(scheme, key.publicKey, message, signature));
  if (!known) ledger.first(sessionId, opened);
  return sessionId;
}

/** A whole signature. Rejects when it is not done in time, or ends otherwise. */
export async function sign(client: Persistence, wish: SignatureWish): Promise<string> {
  const sessionId = await openSigning(client, wish);
  await finishSigning(client, sessionId);
  return sessionId;
}

export async function finishSigning(client: Persistence, sessionId: string): Promise<string> {
  const { api, ledger } = client;
  await goOn(client, sessionId, () => api.submitSignatureShare({ signingSessionId: sessionId }));
  return ledger.resultOf(sessionId);
}

/** Asks for the whole rest of a session, resuming it whenever it says that it can be, until it is complete. */
async function goOn<T extends Answer>(client: Persistence, sessionId: string, rest: () => Promise<T>): Promise<T> {
  const { api, ledger } = client;
  const beganMs = performance.now();
  for (;;) {
    const answer = await ledger.ask(sessionId, () => repeated(rest));
    const { receipt, checkpoint } = answer;
    if (receipt?.state === ReceiptState.BACKEND_COMPLETED) return answer;
    const said = `${sessionId}: ${receipt?.reasonCode} ${receipt?.message}`;
    if (performance.now() - beganMs > patienceMs()) throw new Error(`not complete in time; ${said}`);
    if (checkpoint?.state === ReceiptState.BACKEND_FAILED) {
      const { resumeToken } = checkpoint;
      if (!receipt?.resumable || resumeToken === '') throw new Error(`it cannot be resumed; ${said}`);
      const resumed = await ledger.ask(sessionId, () => repeated(() => api.resumeSession({ sessionId, resumeToken })));
      const code = resumed.receipt!.reasonCode;
      // Used already: the answer to the first attempt was lost.
      if (code !== 'SESSION_RESUMED' && code !== 'RESUME_TOKEN_REUSED') throw new Error(`resume: ${code}; ${said}`);
    } else if (checkpoint?.state !== ReceiptState.ACCEPTED && checkpoint?.state !== ReceiptState.RESUMED) {
      throw new Error(`it ended otherwise; ${said}`);
    }
    // As `until` looks again: who comes back needs the CPU time.
    const pauseMs = Math.min(100, (performance.now() - beganMs) / 10);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Every session of the ledger, asked once more: what was told must still be true. */
export async function askAgain(client: Persistence): Promise<void> {
  const { api, ledger } = client;
  for (const sessionId of ledger.sessionsOf('dkg')) {
    const { checkpoint } = await ledger.ask(sessionId, () => repeated(() => api.exchangeDkgShares({ sessionId })));
    if (checkpoint?.state === ReceiptState.BACKEND_COMPLETED) await readKey(client, sessionId);
  }
  for (const sessionId of ledger.sessionsOf('signing')) {
    await ledger.ask(sessionId, () => repeated(() => api.submitSignatureShare({ signingSessionId: sessionId })));
  }
}
