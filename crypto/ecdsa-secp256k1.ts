/** ECDSA over libsecp256k1 (SEC 1 §4.1), as mock-ecdsa.ts needs it: the native errors end here. */
import secp256k1 from 'secp256k1';
import { equalBytes } from './bytes.ts';

/** Signatures are r ‖ s of 64 bytes, digests 32 bytes, public keys 33. None of them throws. */
export interface EcdsaChecks {
  /** Whether a low-s signature holds. */
  verify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
  /** The key that a signature recovers to (SEC 1 §4.1.6); undefined: none. */
  recover(signature: Uint8Array, recoveryId: number, digest: Uint8Array): Uint8Array | undefined;
  /** Whether `recover` gives `publicKey`: s·R = m·G + r·P for the R that r and the recovery id name. */
  recoversTo(publicKey: Uint8Array, signature: Uint8Array, recoveryId: number, digest: Uint8Array): boolean;
}

export const secp256k1Ecdsa: EcdsaChecks = {
  verify(signature, digest, publicKey) {
    try {
      return secp256k1.ecdsaVerify(signature, digest, publicKey);
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
};

function recover(signature: Uint8Array, recoveryId: number, digest: Uint8Array): Uint8Array | undefined {
  try {
    return secp256k1.ecdsaRecover(signature, recoveryId, digest);
  } catch {
    return undefined;
  }
}
