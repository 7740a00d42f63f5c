/**
 * Bytes: joining, comparing, fixed-width integers, hex, and the injective transcript hash.
 *
 * Invariant: two different (tag, parts) never give the same input to the hash of `transcriptHash`, because every part carries
 * its length. All protocol hashes of this project use it; hashes that an RFC defines do not.
 */
import { timingSafeEqual } from 'node:crypto';
import { CryptoError } from './errors.ts';
import { sha256Of } from './hashing.ts';

/** A source of random bytes, supplied by the caller. Must return exactly `length` fresh bytes, and keep no reference to them. */
export type RandomSource = (length: number) => Uint8Array;

/** Takes `length` bytes from `random` and refuses a source that answers with another length (INVALID_BYTES). */
export function takeRandom(random: RandomSource, length: number): Uint8Array {
  const bytes = random(length);
  if (bytes.length !== length) throw new CryptoError('INVALID_BYTES', `the random source must return ${length} bytes`);
  return bytes;
}

/** A new array holding all parts, in order. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const result = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    result.set(part, offset);
    offset += part.length;
  }
  return result;
}

/** Whether both are the same bytes. Constant time in the content; the lengths are public. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  const { length } = a;
  if (length !== b.length) return false;
  // For short inputs such as a point or a signature, the native call costs more than the comparison.
  if (length > 128) return timingSafeEqual(a, b);
  let difference = 0;
  for (let index = 0; index < length; index += 1) difference |= a[index]! ^ b[index]!;
  return difference === 0;
}

/**
 * The buffer for conversions between short bytes and texts. A short array lives in JavaScript's heap until code takes a view of
 * it or passes it to a native function; copying it here is several times cheaper.
 */
const scratch = Buffer.alloc(32 * 1024);
const scratchBytes = new Uint8Array(scratch.buffer, scratch.byteOffset, scratch.length);
const encoder = new TextEncoder();

/** Lowercase hex, two characters a byte. */
export function toHex(bytes: Uint8Array): string {
  const { length } = bytes;
  if (length > scratch.length) return Buffer.from(bytes).toString('hex');
  scratch.set(bytes);
  return scratch.toString('hex', 0, length);
}

/** The bytes of an even-length hex string of either case. Anything else: CryptoError INVALID_BYTES. */
export function fromHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(hex)) throw new CryptoError('INVALID_BYTES', 'not a hex string');
  const length = hex.length / 2;
  if (length > scratch.length) return new Uint8Array(Buffer.from(hex, 'hex'));
  scratch.write(hex, 0, 'hex');
  return scratchBytes.slice(0, length);
}

/** The parts one after the other, a character a byte: a key for a map. At most 32 KiB. */
export function latin1(...parts: readonly Uint8Array[]): string {
  let length = 0;
  for (const part of parts) {
    scratch.set(part, length);
    length += part.length;
  }
  return scratch.toString('latin1', 0, length);
}

/** UTF-8 bytes of a string. */
export function utf8(text: string): Uint8Array {
  // A character of UTF-16 takes three bytes at most.
  if (text.length * 3 > scratch.length) return encoder.encode(text);
  return scratchBytes.slice(0, scratch.write(text, 0, 'utf8'));
}

/** Four bytes, big-endian; `value` is an integer in [0, 2^32), else INVALID_BYTES. */
export function u32be(value: number): Uint8Array {
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw new CryptoError('INVALID_BYTES', 'not an unsigned 32-bit integer');
  }
  return Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}

/** Eight bytes, big-endian; `value` in [0, 2^64), a number must be a safe integer, else INVALID_BYTES. */
export function u64be(value: bigint | number): Uint8Array {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new CryptoError('INVALID_BYTES', 'not a safe integer');
  }
  const wide = BigInt(value);
  if (wide < 0n || wide >> 64n !== 0n) throw new CryptoError('INVALID_BYTES', 'not an unsigned 64-bit integer');
  const result = new Uint8Array(8);
  new DataView(result.buffer).setBigUint64(0, wide);
  return result;
}

/** Every part with its length in front (four bytes, big-endian): an injective encoding of a list of byte strings. */
export function encodeParts(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += 4 + part.length;
  const result = new Uint8Array(length);
  writeParts(result, 0, parts);
  return result;
}

/** Writes the parts from `offset` on, each with its length as prefix. */
function writeParts(target: Uint8Array, offset: number, parts: readonly Uint8Array[]): void {
  let at = offset;
  for (const part of parts) {
    writeLength(target, at, part.length);
    target.set(part, at + 4);
    at += 4 + part.length;
  }
}

/** Four bytes, big-endian. No byte string here is 4 GiB long. */
function writeLength(target: Uint8Array, at: number, length: number): void {
  target[at] = length >>> 24;
  target[at + 1] = length >>> 16;
  target[at + 2] = length >>> 8;
  target[at + 3] = length;
}

/**
 * SHA-256 over `tag` and all parts, each with its length in front.
 *
 * @param tag domain separator, ASCII, one per use
 * @returns 32 bytes
 */
export function transcriptHash(tag: string, ...parts: readonly Uint8Array[]): Uint8Array {
  let length = 4 + tag.length;
  for (const part of parts) length += 4 + part.length;
  const transcript = length <= scratch.length ? scratch : Buffer.alloc(length);
  writeLength(transcript, 0, tag.length);
  transcript.write(tag, 4, 'latin1');
  writeParts(transcript, 4 + tag.length, parts);
  return sha256Of(transcript, length);
}
