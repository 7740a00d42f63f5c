/** ECDSA over libsecp256k1 (SEC 1 §4.1), for mock-ecdsa.ts and owner-ecdsa.ts. No native error leaves this file. */
import { equalBytes } from './bytes.ts';
import { secp256k1 } from './secp256k1.ts';

/** Signatures are r ‖ s of 64 bytes, digests 32 bytes, public keys 33. The checks never throw. */
export interface EcdsaChecks {
  /** Whether a low-s signature is valid. */
  verify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
  /** The key that a signature recovers to (SEC 1 §4.1.6); undefined: none. */
  recover(signature: Uint8Array, recoveryId: number, digest: Uint8Array): Uint8Array | undefined;
  /** Whether `recover` gives `publicKey`: s·R = m·G + r·P for the R that r and the recovery id name. */
  recoversTo(publicKey: Uint8Array, signature: Uint8Array, recoveryId: number, digest: Uint8Array): boolean;
  /** A low-s signature with the nonce of RFC 6979. `secret`: 32 bytes, big-endian, in [1, order). */
  sign(secret: Uint8Array, digest: Uint8Array): { readonly signature: Uint8Array; readonly recoveryId: number };
}

export const secp256k1Ecdsa: EcdsaChecks = {
  verify(signature, digest, publicKey) {
    try {
      return secp256k1.ecdsaVerify(signature, digest, uncompressed(publicKey));
    } catch {
      return false;
    }
  },
  recover,
  // libsecp256k1 does it in one interleaved multiplication: P = r⁻¹(s·R − m·G).
  recoversTo(publicKey, signature, recoveryId, digest) {
    const recovered = recover(signature, recoveryId, digest);
    return recovered !== undefined && equalBytes(recovered, publicKey);
  },
  sign(secret, digest) {
    const { signature, recid } = secp256k1.ecdsaSign(digest, secret);
    return { signature, recoveryId: recid };
  },
};

/**
 * The key of the last check, and its uncompressed form: parsing a compressed key takes a square root, a tenth of a check, and
 * signatures under one key follow each other.
 */
let lastKey: Uint8Array = new Uint8Array(0);
let lastUncompressed = lastKey;

/** Throws for bytes that are no key. */
function uncompressed(publicKey: Uint8Array): Uint8Array {
  if (!equalBytes(publicKey, lastKey)) {
    lastUncompressed = secp256k1.publicKeyConvert(publicKey, false);
    lastKey = publicKey.slice();
  }
  return lastUncompressed;
}

function recover(signature: Uint8Array, recoveryId: number, digest: Uint8Array): Uint8Array | undefined {
  try {
    return secp256k1.ecdsaRecover(signature, recoveryId, digest);
  } catch {
    return undefined;
  }
}
