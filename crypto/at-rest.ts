/**
 * The envelope of a record at rest: AES-256-GCM (NIST SP 800-38D), with a random 96-bit IV a record.
 *
 * The associated data names the record (its store, key and version), so that a record cannot be moved to another place.
 * One key should seal no more than 2^32 records (SP 800-38D §8.3).
 *
 * Record: 1 byte format (1) ‖ 12 bytes IV ‖ ciphertext ‖ 16 bytes tag.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { concatBytes, encodeParts, type RandomBytes, takeRandom } from './bytes.ts';
import { CryptoError } from './errors.ts';

/** Bytes that a record is longer than its plaintext. */
export const RECORD_OVERHEAD_BYTES = 29;

const FORMAT = Uint8Array.of(1);

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
  random: RandomBytes,
): Uint8Array {
  assertKey(key);
  const iv = takeRandom(random, 12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(encodeParts(FORMAT, associatedData));
  const body = cipher.update(plaintext);
  return concatBytes(FORMAT, iv, body, cipher.final(), cipher.getAuthTag());
}

/** Decrypts a record. A wrong key, other associated data, or any change to the record: CryptoError RECORD_BROKEN. */
export function decryptRecord(key: Uint8Array, associatedData: Uint8Array, record: Uint8Array): Uint8Array {
  assertKey(key);
  if (record.length < RECORD_OVERHEAD_BYTES || record[0] !== FORMAT[0]) throw broken();
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, record.subarray(1, 13), { authTagLength: 16 });
    decipher.setAAD(encodeParts(FORMAT, associatedData));
    decipher.setAuthTag(record.subarray(record.length - 16));
    return concatBytes(decipher.update(record.subarray(13, record.length - 16)), decipher.final());
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
