/**
 * Hashes, MACs, HMAC and HKDF over whole byte strings.
 *
 * SHA-256 and SHA-512 (FIPS 180-4) come from libsodium, which answers in about one microsecond for short inputs, half
 * of what node:crypto needs to set up a hash object. HMAC (RFC 2104) and HKDF (RFC 5869) build on node:crypto.
 */
import { createHmac } from 'node:crypto';
import sodium from 'sodium-native';
import { Variant } from './backend.ts';
import { CryptoError } from './errors.ts';

/** Bytes of a MAC: 128 bits. */
const MAC_BYTES = 16;

/** The functions that this file wraps; each takes whole byte strings and returns fresh ones. */
export interface HashFunctions {
  /** 32 bytes, of the first `length` bytes of the input. */
  sha256(input: Uint8Array, length: number): Uint8Array;
  /** 64 bytes, of the first `length` bytes of the input. */
  sha512(input: Uint8Array, length: number): Uint8Array;
  /** 64 bytes. */
  hmacSha512(key: Uint8Array, input: Uint8Array): Uint8Array;
  /** 16 bytes. */
  mac(key: Uint8Array, input: Uint8Array): Uint8Array;
  /** `length` bytes, 1 to 8,160. */
  hkdfSha256(inputKey: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Uint8Array;
}

/** libsodium's output buffer for MACs: moving a short array out of JavaScript's heap would cost more than the MAC. */
const macBytes = new Uint8Array(new ArrayBuffer(MAC_BYTES));

const realHashes: HashFunctions = {
  sha256(input, length) {
    const digest = new Uint8Array(32);
    sodium.crypto_hash_sha256(digest, length === input.length ? input : input.subarray(0, length));
    return digest;
  },
  sha512(input, length) {
    const digest = new Uint8Array(64);
    sodium.crypto_hash_sha512(digest, length === input.length ? input : input.subarray(0, length));
    return digest;
  },
  hmacSha512: (key, input) => new Uint8Array(createHmac('sha512', key).update(input).digest()),
  mac(key, input) {
    sodium.crypto_generichash(macBytes, input, key);
    return macBytes.slice();
  },
  hkdfSha256: realHkdf,
};

/** SHA-256 with either cryptography, for values that must not depend on that choice. 32 bytes. */
export function realSha256(input: Uint8Array): Uint8Array {
  return realHashes.sha256(input, input.length);
}

/** `mac` and `hkdfSha256` with either cryptography, as `realSha256`. */
export const { mac: realMac, hkdfSha256: realHkdfSha256 } = realHashes;

/** The functions in use. */
export const hashes = new Variant<HashFunctions>(realHashes);

/** SHA-256 of the joined parts: 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const input = join(parts);
  return hashes.current.sha256(input, joinedBytes);
}

/** SHA-256 of the first `length` bytes. */
export function sha256Of(input: Uint8Array, length: number): Uint8Array {
  return hashes.current.sha256(input, length);
}

/** SHA-512 of the joined parts: 64 bytes. */
export function sha512(...parts: readonly Uint8Array[]): Uint8Array {
  const input = join(parts);
  return hashes.current.sha512(input, joinedBytes);
}

/** HMAC-SHA-512 (RFC 2104) of the joined parts: 64 bytes. */
export function hmacSha512(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const input = join(parts);
  return hashes.current.hmacSha512(key, input.subarray(0, joinedBytes));
}

/**
 * The MAC of `input`: BLAKE2b (RFC 7693) keyed, with a digest of 16 bytes. It takes a third of the time of HMAC-SHA-256 over
 * node:crypto.
 *
 * @param key secret, 32 bytes; else INVALID_BYTES
 */
export function mac(key: Uint8Array, input: Uint8Array): Uint8Array {
  if (key.length !== 32) throw new CryptoError('INVALID_BYTES', 'the key of a MAC is 32 bytes');
  return hashes.current.mac(key, input);
}

/**
 * HKDF-SHA-256 (RFC 5869), extract then expand.
 *
 * @param inputKey secret input keying material
 * @param salt public, may be empty (then 32 zero bytes, as the RFC says)
 * @param info public context; the caller makes it injective
 * @param length output bytes, 1 to 8,160
 */
export function hkdfSha256(inputKey: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Uint8Array {
  if (!Number.isInteger(length) || length < 1 || length > 255 * 32) {
    throw new CryptoError('INVALID_BYTES', 'HKDF gives 1 to 8160 bytes');
  }
  return hashes.current.hkdfSha256(inputKey, salt, info, length);
}

function realHkdf(inputKey: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Uint8Array {
  const pseudoRandomKey = createHmac('sha256', salt.length === 0 ? new Uint8Array(32) : salt)
    .update(inputKey)
    .digest();
  const output = new Uint8Array(length);
  let block: Uint8Array = new Uint8Array(0);
  for (let counter = 1, offset = 0; offset < length; counter++, offset += 32) {
    block = createHmac('sha256', pseudoRandomKey).update(block).update(info).update(Uint8Array.of(counter)).digest();
    output.set(block.subarray(0, Math.min(32, length - offset)), offset);
  }
  return output;
}

/** The buffer that joins short parts, so that a hash allocates only its output. */
const joined = new Uint8Array(1024);
/** The number of valid bytes in the buffer after the last `join`. */
let joinedBytes = 0;

function join(parts: readonly Uint8Array[]): Uint8Array {
  joinedBytes = 0;
  for (const part of parts) joinedBytes += part.length;
  if (parts.length === 1) return parts[0]!;
  if (joinedBytes > joined.length) return Buffer.concat(parts);
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}
