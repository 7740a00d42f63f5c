/**
 * The verdict on the clients' signatures. OpenSSL (node:crypto), which did not make them, verifies every signature; @noble/curves
 * also verifies a sample, and with the recovery id. One session, one signature; and no R twice under one key, since a repeated
 * nonce would reveal that key.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { SigningCurve } from '../calls/signing-caller.ts';

/** A key of the cluster. */
export interface ClusterKey {
  readonly walletId: string;
  readonly curve: SigningCurve;
  /** Compressed. */
  readonly publicKey: Uint8Array;
}

/** A signature that a client got. */
export interface Evidence {
  readonly key: ClusterKey;
  /** The text that the caller means to sign. */
  readonly text: Uint8Array;
  /** The service's input: for secp256k1 the text's SHA-256, for ed25519 the text. */
  readonly message: Uint8Array;
  readonly sessionId: string;
  readonly signature: Uint8Array;
  readonly recoveryId: number;
}

export interface SignatureVerdict {
  readonly signatures: number;
  readonly verified: number;
  /** @noble/curves verifies it too. */
  readonly sampled: number;
  readonly faults: readonly string[];
  readonly seconds: number;
}

/** About this many a batch go through @noble/curves, which takes a millisecond or more each. */
const sampleSize = 50;
const faultsMax = 10;

export function verifyAll(evidence: readonly Evidence[]): SignatureVerdict {
  const beganMs = performance.now();
  const opensslKeys = new Map<ClusterKey, KeyObject>();
  const sessions = new Set<string>();
  const noncePoints = new Set<string>();
  const faults: string[] = [];
  const fault = (text: string) => {
    if (faults.length < faultsMax) faults.push(text);
  };
  const every = Math.max(1, Math.floor(evidence.length / sampleSize));
  let verified = 0;
  let sampled = 0;
  for (const [index, each] of evidence.entries()) {
    const { key, sessionId, signature } = each;
    if (sessions.has(sessionId)) fault(`${sessionId}: two signatures`);
    sessions.add(sessionId);
    const noncePoint = `${key.walletId}/${Buffer.from(signature.subarray(0, 32)).toString('base64')}`;
    if (noncePoints.has(noncePoint)) fault(`${sessionId}: a nonce point of another session`);
    noncePoints.add(noncePoint);

    let opensslKey = opensslKeys.get(key);
    if (opensslKey === undefined) {
      opensslKey = opensslKeyOf(key);
      opensslKeys.set(key, opensslKey);
    }
    let holds = signature.length === 64 && holdsForOpenssl(each, opensslKey);
    if (holds && index % every === 0) {
      sampled += 1;
      holds = holdsForNoble(each);
    }
    if (holds) verified += 1;
    else fault(`${sessionId}: the signature does not verify`);
  }
  return { signatures: evidence.length, verified, sampled, faults, seconds: (performance.now() - beganMs) / 1000 };
}

/** Half of the order of secp256k1: s must not be above it (BIP-62). */
const halfOrder = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex');

function holdsForOpenssl({ key, text, signature }: Evidence, opensslKey: KeyObject): boolean {
  if (key.curve === 'ed25519') return verify(null, text, opensslKey, signature);
  if (halfOrder.compare(signature.subarray(32)) < 0) return false;
  return verify('sha256', text, { key: opensslKey, dsaEncoding: 'ieee-p1363' }, signature);
}

/** RFC 8410 and RFC 5480: the bytes before the key in SubjectPublicKeyInfo. */
const spkiPrefix = {
  ed25519: '302a300506032b6570032100',
  secp256k1: '3036301006072a8648ce3d020106052b8104000a032200',
} as const;

function opensslKeyOf({ curve, publicKey }: ClusterKey): KeyObject {
  const der = Buffer.concat([Buffer.from(spkiPrefix[curve], 'hex'), publicKey]);
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

function holdsForNoble({ key, message, signature, recoveryId }: Evidence): boolean {
  if (key.curve === 'ed25519') return ed25519.verify(signature, message, key.publicKey);
  if (!secp256k1.verify(signature, message, key.publicKey, { prehash: false, lowS: true })) return false;
  const recovered = secp256k1.Signature.fromBytes(signature, 'compact')
    .addRecoveryBit(recoveryId)
    .recoverPublicKey(message)
    .toBytes(true);
  return Buffer.compare(recovered, key.publicKey) === 0;
}
