/** Signatures verified by another library than the one that made them: the oracle of the checkers. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { verifySchnorr } from '../../crypto/frost/frost.ts';
import { verifyEcdsa } from '../../crypto/mock-ecdsa.ts';

/**
 * Whether a signature (64 bytes) is one of `message` under `publicKey` (compressed: 33 bytes, ed25519: 32). False for
 * anything malformed. `message`: the digest for secp256k1.
 */
export type SignatureVerifier = (input: {
  readonly scheme: 'ecdsa' | 'bip340' | 'ed25519';
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}) => boolean;

/** For real cryptography. */
export const nobleVerifier: SignatureVerifier = ({ scheme, publicKey, message, signature }) => {
  try {
    switch (scheme) {
      case 'ecdsa':
        return secp256k1.verify(signature, message, publicKey, { prehash: false, lowS: true });
      case 'bip340':
        return schnorr.verify(signature, message, publicKey.subarray(1));
      case 'ed25519':
        return ed25519.verify(signature, message, publicKey);
    }
  } catch {
    return false;
  }
};

/** By the cryptography in force, whichever it is: for the model, of which there is no other implementation. */
export const currentVerifier: SignatureVerifier = ({ scheme, publicKey, message, signature }) => {
  switch (scheme) {
    case 'ecdsa':
      return verifyEcdsa({ signature, digest: message, publicKey });
    case 'bip340':
      return verifySchnorr('FROST-secp256k1-SHA256-TR-v1', signature, message, publicKey);
    case 'ed25519':
      return verifySchnorr('FROST-ED25519-SHA512-v1', signature, message, publicKey);
  }
};
