/** The boxes of sealing.ts over libsodium: X25519, HKDF-SHA-256 and ChaCha20-Poly1305, as specified there. */
import sodium from 'sodium-native';
import { concatBytes, encodeParts, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { hkdfSha256 } from './hashing.ts';

const TAG_BYTES = 16;
const FIXED_NONCE = new Uint8Array(12);
const SALT = utf8('signmesh/seal/v1');

/** An X25519 key pair, 32 bytes each. `secretKey` is secret until a complaint reveals it. */
export interface SealingKeyPair {
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

/** The sealing functions. The caller checks lengths; both throw CryptoError SEAL_BROKEN. */
export interface SealingScheme {
  /** 32 bytes of a secret key of 32. */
  publicKeyOf(secretKey: Uint8Array): Uint8Array;
  /** `ephemeralSeed`: 32 fresh secret bytes. The box is 48 bytes longer than the plaintext. */
  seal(
    recipientPublicKey: Uint8Array,
    plaintext: Uint8Array,
    associatedData: Uint8Array,
    ephemeralSeed: Uint8Array,
  ): Uint8Array;
  open(recipient: SealingKeyPair, box: Uint8Array, associatedData: Uint8Array): Uint8Array;
}

export const x25519Sealing: SealingScheme = {
  publicKeyOf,
  seal(recipientPublicKey, plaintext, associatedData, ephemeralSeed) {
    const ephemeral = publicKeyOf(ephemeralSeed);
    const key = boxKey(ephemeralSeed, recipientPublicKey, ephemeral, recipientPublicKey, associatedData);
    const ciphertext = new Uint8Array(plaintext.length + TAG_BYTES);
    sodium.crypto_aead_chacha20poly1305_ietf_encrypt(ciphertext, plaintext, associatedData, null, FIXED_NONCE, key);
    return concatBytes(ephemeral, ciphertext);
  },
  open(recipient, box, associatedData) {
    const ephemeral = box.subarray(0, 32);
    const key = boxKey(recipient.secretKey, ephemeral, ephemeral, recipient.publicKey, associatedData);
    const sealed = box.subarray(32);
    const plaintext = new Uint8Array(sealed.length - TAG_BYTES);
    try {
      sodium.crypto_aead_chacha20poly1305_ietf_decrypt(plaintext, null, sealed, associatedData, FIXED_NONCE, key);
    } catch {
      throw sealBroken();
    }
    return plaintext;
  },
};

export function sealBroken(): CryptoError {
  return new CryptoError('SEAL_BROKEN', 'the box does not open');
}

function publicKeyOf(secretKey: Uint8Array): Uint8Array {
  const publicKey = new Uint8Array(32);
  sodium.crypto_scalarmult_base(publicKey, secretKey);
  return publicKey;
}

function boxKey(
  ownSecretKey: Uint8Array,
  otherPublicKey: Uint8Array,
  ephemeralPublicKey: Uint8Array,
  recipientPublicKey: Uint8Array,
  associatedData: Uint8Array,
): Uint8Array {
  const shared = new Uint8Array(32);
  try {
    // Throws when the shared secret is all zero, which a public key of small order forces (RFC 7748 §6.1).
    sodium.crypto_scalarmult(shared, ownSecretKey, otherPublicKey);
  } catch {
    throw sealBroken();
  }
  return hkdfSha256(shared, SALT, encodeParts(ephemeralPublicKey, recipientPublicKey, associatedData), 32);
}
