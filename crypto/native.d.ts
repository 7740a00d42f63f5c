/**
 * Types for the parts of the two untyped native libraries that crypto/ uses.
 *
 * secp256k1 5 wraps bitcoin-core's libsecp256k1 (and falls back to a JavaScript copy of the interface); sodium-native 5
 * wraps libsodium. Both throw plain errors; only group-*.ts, ecdsa-*.ts, identity-*.ts, sealing-*.ts,
 * at-rest.ts and hashing.ts may call them.
 */
declare module 'secp256k1' {
  interface Secp256k1 {
    publicKeyVerify(publicKey: Uint8Array): boolean;
    publicKeyCreate(secretKey: Uint8Array, compressed?: boolean): Uint8Array;
    publicKeyConvert(publicKey: Uint8Array, compressed?: boolean): Uint8Array;
    publicKeyNegate(publicKey: Uint8Array, compressed?: boolean): Uint8Array;
    publicKeyCombine(publicKeys: Uint8Array[], compressed?: boolean): Uint8Array;
    publicKeyTweakAdd(publicKey: Uint8Array, tweak: Uint8Array, compressed?: boolean): Uint8Array;
    publicKeyTweakMul(publicKey: Uint8Array, tweak: Uint8Array, compressed?: boolean): Uint8Array;
    ecdsaSign(digest: Uint8Array, secretKey: Uint8Array): { signature: Uint8Array; recid: number };
    ecdsaVerify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
    ecdsaRecover(signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed?: boolean): Uint8Array;
  }
  const secp256k1: Secp256k1;
  export = secp256k1;
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
