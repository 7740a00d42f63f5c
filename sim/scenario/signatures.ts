/**
 * Whether a released signature is what it should be: verified by a library that made no part of it (noble-curves), under
 * the key that the scenario signs with, for exactly the message that it asked to be signed.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { Curve } from '../../crypto/group.ts';

export interface ReleasedSignature {
  readonly curve: Curve;
  readonly keystore: 'MOCK_THRESHOLD' | 'MPC_FROST';
  /** Compressed: the key of its derivation path. */
  readonly publicKey: Uint8Array;
  /** What was to be signed: a digest of 32 bytes for secp256k1. */
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

export type VerifySignature = (released: ReleasedSignature) => boolean;

/** The verifier for real curves. */
export const verifyWithNoble: VerifySignature = ({ curve, keystore, publicKey, message, signature }) => {
  try {
    if (curve === 'ed25519') return ed25519.verify(signature, message, publicKey);
    if (keystore === 'MPC_FROST') return schnorr.verify(signature, message, publicKey.subarray(1));
    return secp256k1.verify(signature, message, publicKey, { prehash: false, lowS: true });
  } catch {
    return false;
  }
};

/** What the nodes sign for a text: its SHA-256 on secp256k1, its bytes on ed25519. */
export function messageBytes(curve: Curve, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return curve === 'ed25519' ? bytes : sha256(bytes);
}
