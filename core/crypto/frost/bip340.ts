/**
 * BIP-340: the challenge of Schnorr signatures over secp256k1, and their verification.
 *
 * Public keys and R are x-only: 32 bytes, standing for the point with that abscissa and an even y.
 */
import { concatBytes, equalBytes, utf8 } from '../bytes.ts';
import { CryptoError } from '../errors.ts';
import { groupOf } from '../group.ts';
import { sha256 } from '../hashing.ts';

const challengeTag = sha256(utf8('BIP0340/challenge'));

/** e = int(SHA-256(tag ‖ tag ‖ R.x ‖ P.x ‖ m)) mod n, with tag = SHA-256("BIP0340/challenge"). BIP-340 "Verification". */
export function bip340Challenge(Rx: Uint8Array, publicKeyX: Uint8Array, message: Uint8Array): bigint {
  return groupOf('secp256k1').reduce(sha256(challengeTag, challengeTag, Rx, publicKeyX, message));
}

/**
 * Whether `signature` (R.x ‖ s, 64 bytes) signs `message` (any length) under the x-only key (32 bytes).
 * False for anything malformed.
 */
export function verifyBip340(signature: Uint8Array, message: Uint8Array, publicKeyX: Uint8Array): boolean {
  if (signature.length !== 64 || publicKeyX.length !== 32) return false;
  const group = groupOf('secp256k1');
  const publicKey = concatBytes(Uint8Array.of(2), publicKeyX);
  if (!group.isValidPoint(publicKey)) return false;
  const Rx = signature.slice(0, 32);
  try {
    const s = group.decodeScalar(signature.slice(32));
    const e = bip340Challenge(Rx, publicKeyX, message);
    const R = group.linearCombination(s, [[(group.order - e) % group.order, publicKey]]);
    // The prefix 2 says that y is even; an infinite R or an s out of range has thrown.
    return R[0] === 2 && equalBytes(R.slice(1), Rx);
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}
