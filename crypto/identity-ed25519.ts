/**
 * Ed25519 (RFC 8032) over libsodium, which signs and verifies in about half the time of node:crypto (measured), and
 * refuses public keys of small order and signatures that are not canonical. identity.ts checks the lengths.
 */
import sodium from 'sodium-native';

/** The arithmetic behind identities. Lengths are checked by the caller. */
export interface IdentityScheme {
  /** 32 bytes of a seed of 32. */
  publicKeyOf(seed: Uint8Array): Uint8Array;
  /** 64 bytes; `secretKey` is seed ‖ public key. */
  sign(secretKey: Uint8Array, message: Uint8Array): Uint8Array;
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
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
};
