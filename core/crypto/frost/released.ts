/**
 * Verifies a released signature, for the checkers of a simulation. For the real cryptography it uses a library that shares no
 * code with this one (@noble/curves); for the model, the model.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { cryptography } from '../backend.ts';
import { verifyEcdsa } from '../mock-ecdsa.ts';
import { verifySchnorr } from './frost.ts';

/** The kinds of released signatures: low-s ECDSA (r ‖ s), BIP-340, and Ed25519; 64 bytes each. */
export type ReleasedKind = 'ecdsa' | 'bip340' | 'ed25519';

/**
 * False for anything malformed; never throws.
 *
 * @param publicKey the (derived) key: 33 bytes compressed for ECDSA; 33 or x-only 32 for BIP-340; 32 for Ed25519
 * @param message ECDSA: the digest of 32 bytes
 */
export function verifyReleased(
  kind: ReleasedKind,
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return cryptography() === 'model'
    ? verifiedByModel(kind, publicKey, message, signature)
    : verifiedByNoble(kind, publicKey, message, signature);
}

function verifiedByModel(
  kind: ReleasedKind,
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (kind === 'ecdsa') return verifyEcdsa({ signature, digest: message, publicKey });
  const suite = kind === 'bip340' ? 'FROST-secp256k1-SHA256-TR-v1' : 'FROST-ED25519-SHA512-v1';
  return verifySchnorr(suite, signature, message, publicKey);
}

function verifiedByNoble(
  kind: ReleasedKind,
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    if (kind === 'ecdsa') {
      if (message.length !== 32) return false;
      return secp256k1.verify(signature, message, publicKey, { prehash: false, lowS: true });
    }
    if (kind === 'ed25519') return ed25519.verify(signature, message, publicKey);
    return schnorr.verify(signature, message, publicKey.length === 33 ? publicKey.subarray(1) : publicKey);
  } catch {
    return false;
  }
}
