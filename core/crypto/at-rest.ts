/**
 * The envelope of a record at rest, in two formats. The associated data names the record (its store, key and version), so that
 * a record cannot be decrypted in another place.
 *
 * - Format 1: AES-256-GCM (NIST SP 800-38D): 1 byte format ‖ 12 bytes random IV ‖ ciphertext ‖ 16 bytes tag. One key should
 *   seal no more than 2^32 records (SP 800-38D §8.3).
 * - Format 2: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, RFC 8439): 1 byte format ‖ 24 bytes random nonce ‖ ciphertext ‖
 *   16 bytes tag. One call of libsodium: a record of 150 bytes takes a fifth of the time of format 1, whose cipher node:crypto
 *   makes anew for each record. Its key is derived from the record key, so that no key serves two ciphers.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import sodium from 'sodium-native';
import { concatBytes, encodeParts, type RandomSource, takeRandom, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { hkdfSha256 } from './hashing.ts';

/** Bytes that format 1 adds to its plaintext. */
export const RECORD_OVERHEAD_BYTES = 29;
/** Bytes that format 2 adds to its plaintext. */
export const BRIEF_RECORD_OVERHEAD_BYTES = 41;

const FORMAT = Uint8Array.of(1);
const BRIEF_FORMAT = 2;
const BRIEF_NONCE_END = 25;
const TAG_BYTES = 16;

/**
 * Encrypts one record.
 *
 * @param key 32 secret bytes; another length: INVALID_BYTES
 * @param associatedData public, bound but not stored
 */
export function encryptRecord(
  key: Uint8Array,
  associatedData: Uint8Array,
  plaintext: Uint8Array,
  random: RandomSource,
): Uint8Array {
  assertKey(key);
  const iv = takeRandom(random, 12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(encodeParts(FORMAT, associatedData));
  const body = cipher.update(plaintext);
  return concatBytes(FORMAT, iv, body, cipher.final(), cipher.getAuthTag());
}

/** As `encryptRecord`, in format 2: for records that are written for every signature. */
export function encryptBriefRecord(
  key: Uint8Array,
  associatedData: Uint8Array,
  plaintext: Uint8Array,
  random: RandomSource,
): Uint8Array {
  assertKey(key);
  // From Buffer's pool: allocating a separate array of this size costs more than the cipher.
  const record = Buffer.allocUnsafe(plaintext.length + BRIEF_RECORD_OVERHEAD_BYTES);
  record[0] = BRIEF_FORMAT;
  const nonce = record.subarray(1, BRIEF_NONCE_END);
  nonce.set(takeRandom(random, nonce.length));
  const body = record.subarray(BRIEF_NONCE_END);
  sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(body, plaintext, associatedData, null, nonce, briefKeyOf(key));
  return record;
}

function decryptBrief(key: Uint8Array, associatedData: Uint8Array, record: Uint8Array): Uint8Array {
  if (record.length < BRIEF_RECORD_OVERHEAD_BYTES) throw broken();
  const plaintext = new Uint8Array(record.length - BRIEF_RECORD_OVERHEAD_BYTES);
  const nonce = record.subarray(1, BRIEF_NONCE_END);
  const body = record.subarray(BRIEF_NONCE_END);
  try {
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(plaintext, null, body, associatedData, nonce, briefKeyOf(key));
  } catch {
    throw broken();
  }
  return plaintext;
}

/** Derived keys by record key, for the lifetime of that key object. Secret. */
const briefKeys = new WeakMap<Uint8Array, Uint8Array>();

function briefKeyOf(key: Uint8Array): Uint8Array {
  const known = briefKeys.get(key);
  if (known !== undefined) return known;
  const derived = hkdfSha256(key, new Uint8Array(0), utf8('signmesh/at-rest/v2'), 32);
  briefKeys.set(key, derived);
  return derived;
}

/** Decrypts a record of either format. A wrong key, other associated data, or any change to the record: CryptoError RECORD_BROKEN. */
export function decryptRecord(key: Uint8Array, associatedData: Uint8Array, record: Uint8Array): Uint8Array {
  assertKey(key);
  if (record[0] === BRIEF_FORMAT) return decryptBrief(key, associatedData, record);
  if (record.length < RECORD_OVERHEAD_BYTES || record[0] !== FORMAT[0]) throw broken();
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, record.subarray(1, 13), { authTagLength: TAG_BYTES });
    decipher.setAAD(encodeParts(FORMAT, associatedData));
    decipher.setAuthTag(record.subarray(record.length - TAG_BYTES));
    return concatBytes(decipher.update(record.subarray(13, record.length - TAG_BYTES)), decipher.final());
  } catch {
    throw broken();
  }
}

function assertKey(key: Uint8Array): void {
  if (key.length !== 32) throw new CryptoError('INVALID_BYTES', 'the record key is 32 bytes');
}

function broken(): CryptoError {
  return new CryptoError('RECORD_BROKEN', 'the record cannot be decrypted');
}
