/**
 * Ed25519 (RFC 8032) over libsodium, which signs and verifies in about half the time of node:crypto (measured), and
 * refuses public keys of small order and signatures that are not canonical. identity.ts checks the lengths.
 */
import sodium from 'sodium-native';
import { CryptoError } from './errors.ts';

/** The arithmetic behind identities. The caller checks lengths. */
export interface IdentityScheme {
  /** 32 bytes of a seed of 32. */
  publicKeyOf(seed: Uint8Array): Uint8Array;
  /** 64 bytes; `secretKey` is seed ‖ public key. */
  sign(secretKey: Uint8Array, message: Uint8Array): Uint8Array;
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
  /** 32 secret bytes, the same for both identities. Throws CryptoError INVALID_POINT. */
  agree(secretKey: Uint8Array, otherPublicKey: Uint8Array): Uint8Array;
}

export const ed25519Identities: IdentityScheme = {
  publicKeyOf(seed) {
    const publicKey = new Uint8Array(32);
    sodium.crypto_sign_seed_keypair(publicKey, new Uint8Array(64), seed);
    return publicKey;
  },
  sign(secretKey, message) {
    const signature = new Uint8Array(64);
    sodium.crypto_sign_detached(signature, message, secretKey);
    return signature;
  },
  verify: (publicKey, message, signature) => sodium.crypto_sign_verify_detached(signature, message, publicKey),
  agree(secretKey, otherPublicKey) {
    const [own, other, shared] = [new Uint8Array(32), new Uint8Array(32), new Uint8Array(32)] as const;
    try {
      sodium.crypto_sign_ed25519_sk_to_curve25519(own, secretKey);
      // Throws unless this is a point of prime order; the next line throws for an all-zero result (RFC 7748 §6.1).
      sodium.crypto_sign_ed25519_pk_to_curve25519(other, otherPublicKey);
      sodium.crypto_scalarmult(shared, own, other);
    } catch {
      throw new CryptoError('INVALID_POINT', 'no secret can be agreed with this public key');
    }
    return shared;
  },
};
