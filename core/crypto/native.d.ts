/**
 * Types for the parts of the two untyped native libraries that core/crypto/ uses.
 *
 * secp256k1 5 wraps bitcoin-core's libsecp256k1, sodium-native 5 libsodium. Both throw plain errors; only secp256k1.ts,
 * group-*.ts, ecdsa-*.ts, identity-*.ts, sealing-*.ts, at-rest.ts and hashing.ts may call them.
 */
declare module 'secp256k1/lib/index.js' {
  /** The operations over the addon's object, with checks of their arguments. */
  const wrapped: (addon: object) => unknown;
  export = wrapped;
}

declare module 'sodium-native' {
  interface Sodium {
    crypto_core_ed25519_is_valid_point(point: Uint8Array): boolean;
    crypto_core_ed25519_add(result: Uint8Array, p: Uint8Array, q: Uint8Array): void;
    crypto_core_ed25519_sub(result: Uint8Array, p: Uint8Array, q: Uint8Array): void;
    crypto_scalarmult_ed25519_noclamp(result: Uint8Array, scalar: Uint8Array, point: Uint8Array): void;
    crypto_scalarmult_ed25519_base_noclamp(result: Uint8Array, scalar: Uint8Array): void;
    crypto_scalarmult(shared: Uint8Array, secretKey: Uint8Array, publicKey: Uint8Array): void;
    crypto_scalarmult_base(publicKey: Uint8Array, secretKey: Uint8Array): void;
    crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void;
    crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void;
    crypto_sign_ed25519_pk_to_curve25519(result: Uint8Array, publicKey: Uint8Array): void;
    crypto_sign_ed25519_sk_to_curve25519(result: Uint8Array, secretKey: Uint8Array): void;
    crypto_generichash(digest: Uint8Array, input: Uint8Array, key: Uint8Array): void;
    crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean;
    crypto_hash_sha256(digest: Uint8Array, input: Uint8Array): void;
    crypto_hash_sha512(digest: Uint8Array, input: Uint8Array): void;
    crypto_aead_chacha20poly1305_ietf_encrypt(
      ciphertext: Uint8Array,
      plaintext: Uint8Array,
      associatedData: Uint8Array | null,
      unused: null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number;
    crypto_aead_chacha20poly1305_ietf_decrypt(
      plaintext: Uint8Array,
      unused: null,
      ciphertext: Uint8Array,
      associatedData: Uint8Array | null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number;
    crypto_aead_xchacha20poly1305_ietf_encrypt(
      ciphertext: Uint8Array,
      plaintext: Uint8Array,
      associatedData: Uint8Array | null,
      unused: null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number;
    crypto_aead_xchacha20poly1305_ietf_decrypt(
      plaintext: Uint8Array,
      unused: null,
      ciphertext: Uint8Array,
      associatedData: Uint8Array | null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number;
  }
  const sodium: Sodium;
  export = sodium;
}
