/**
 * Sealing of shares between nodes: a box that only the recipient's per-session key opens.
 *
 * Every box has an ephemeral X25519 key pair of its own (RFC 7748). The shared secret goes through HKDF-SHA-256
 * (RFC 5869) with both public keys and the associated data in `info`, and ChaCha20-Poly1305 (RFC 8439) seals. The key is
 * fresh with every box, so the nonce may be fixed. A box says nothing of its sender: the sender signs the frame that
 * carries it, and the associated data names tenant, session, attempt, sender, recipient and roster.
 *
 * A recipient that complains about a share reveals its per-session sealing key: whoever holds the signed box opens it
 * with `open` and decides who cheated. That also opens every other box to that recipient in that session, and no more.
 *
 * Box: 32 bytes ephemeral public key ‖ ciphertext ‖ 16 bytes tag.
 */
import sodium from 'sodium-native';
import { concatBytes, encodeParts, equalBytes, type RandomBytes, takeRandom, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { hkdfSha256 } from './hashing.ts';

/** Bytes that a box is longer than its plaintext. */
export const SEAL_OVERHEAD_BYTES = 48;

const TAG_BYTES = 16;
const FIXED_NONCE = new Uint8Array(12);
const SALT = utf8('signmesh/seal/v1');

/** An X25519 key pair, 32 bytes each. `secretKey` is secret until a complaint reveals it. */
export interface SealingKeyPair {
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

/** The key pair of 32 secret random bytes, one for each session; another length: INVALID_BYTES. */
export function sealingKeyPair(seed: Uint8Array): SealingKeyPair {
  if (seed.length !== 32) throw new CryptoError('INVALID_BYTES', 'the seed of a sealing key is 32 bytes');
  const publicKey = new Uint8Array(32);
  sodium.crypto_scalarmult_base(publicKey, seed);
  return { publicKey, secretKey: seed.slice() };
}

/** Whether a revealed secret key is the one behind an announced public key. False for wrong lengths. */
export function sealingKeyMatches(secretKey: Uint8Array, publicKey: Uint8Array): boolean {
  return secretKey.length === 32 && equalBytes(sealingKeyPair(secretKey).publicKey, publicKey);
}

/**
 * Seals `plaintext` to `recipientPublicKey`, bound to `associatedData` (which is not part of the box).
 *
 * @param random gives the 32 bytes of the ephemeral key
 * @throws SEAL_BROKEN for a public key of small order, INVALID_BYTES for a wrong length
 */
export function seal(input: {
  readonly recipientPublicKey: Uint8Array;
  readonly plaintext: Uint8Array;
  readonly associatedData: Uint8Array;
  readonly random: RandomBytes;
}): Uint8Array {
  const { recipientPublicKey, plaintext, associatedData, random } = input;
  if (recipientPublicKey.length !== 32) throw new CryptoError('INVALID_BYTES', 'a sealing key is 32 bytes');
  const ephemeral = sealingKeyPair(takeRandom(random, 32));
  const key = boxKey(ephemeral.secretKey, recipientPublicKey, ephemeral.publicKey, recipientPublicKey, associatedData);
  const ciphertext = new Uint8Array(plaintext.length + TAG_BYTES);
  sodium.crypto_aead_chacha20poly1305_ietf_encrypt(ciphertext, plaintext, associatedData, null, FIXED_NONCE, key);
  return concatBytes(ephemeral.publicKey, ciphertext);
}

/**
 * Opens a box with the recipient's secret key. Anything but exactly what was sealed: CryptoError SEAL_BROKEN.
 */
export function open(input: {
  readonly recipientSecretKey: Uint8Array;
  readonly box: Uint8Array;
  readonly associatedData: Uint8Array;
}): Uint8Array {
  const { recipientSecretKey, box, associatedData } = input;
  if (box.length < SEAL_OVERHEAD_BYTES) throw broken();
  const recipient = sealingKeyPair(recipientSecretKey);
  const ephemeralPublicKey = box.subarray(0, 32);
  const key = boxKey(recipient.secretKey, ephemeralPublicKey, ephemeralPublicKey, recipient.publicKey, associatedData);
  const plaintext = new Uint8Array(box.length - SEAL_OVERHEAD_BYTES);
  try {
    sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
      plaintext,
      null,
      box.subarray(32),
      associatedData,
      FIXED_NONCE,
      key,
    );
  } catch {
    throw broken();
  }
  return plaintext;
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
    // Throws when the shared secret is all zero, which a public key of small order would force (RFC 7748 §6.1).
    sodium.crypto_scalarmult(shared, ownSecretKey, otherPublicKey);
  } catch {
    throw broken();
  }
  return hkdfSha256(shared, SALT, encodeParts(ephemeralPublicKey, recipientPublicKey, associatedData), 32);
}

function broken(): CryptoError {
  return new CryptoError('SEAL_BROKEN', 'the box does not open');
}
