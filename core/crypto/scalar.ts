/**
 * Arithmetic modulo a group order, and integers to and from bytes.
 *
 * Scalars are `bigint` in [0, order). JavaScript's BigInt is not constant time: signmesh is a simulator and makes no
 * claim against an attacker who measures the signer's own processor.
 */
import { CryptoError } from './errors.ts';

/** The buffer for integers of 32 bytes: faster than hex, and faster than a new view each time. */
const scratch = new Uint8Array(32);
const words = new DataView(scratch.buffer);

/** The remainder in [0, order), also for a negative value. */
export function modulo(value: bigint, order: bigint): bigint {
  const remainder = value % order;
  return remainder < 0n ? remainder + order : remainder;
}

/** Integers below it are exact as numbers. */
const exactMax = 2n ** 53n;

/**
 * The inverse of `value` modulo the prime `order` < 2^256, by the extended Euclidean algorithm with Lehmer's shortcut (Knuth,
 * The Art of Computer Programming, volume 2, 4.5.2, algorithm L): the leading bits of two numbers determine the next quotients,
 * so most steps need no BigInt. Zero has no inverse: CryptoError INVALID_SCALAR.
 */
export function invert(value: bigint, order: bigint): bigint {
  let low = modulo(value, order);
  if (low === 0n) throw new CryptoError('INVALID_SCALAR', 'zero has no inverse');
  let high = order;
  let x = 1n;
  let y = 0n;
  let bits = 256;
  while (high >= exactMax) {
    const shift = BigInt(bits - 52);
    const leading = Number(high >> shift);
    // High has become shorter: with too few leading bits, few quotients would be certain.
    if (leading < 2 ** 40) {
      bits -= 12;
      continue;
    }
    const [a, b, c, d] = certainSteps(leading, Number(low >> shift));
    if (b === 0) {
      const quotient = high / low;
      [high, low] = [low, high - quotient * low];
      [y, x] = [x, y - quotient * x];
      continue;
    }
    const [A, B, C, D] = [BigInt(a), BigInt(b), BigInt(c), BigInt(d)];
    [high, low] = [A * high + B * low, C * high + D * low];
    [y, x] = [A * y + B * x, C * y + D * x];
  }
  const [a, b] = allSteps(Number(high), Number(low));
  return modulo(BigInt(a) * y + BigInt(b) * x, order);
}

/** The factors of a step: high becomes a·high + b·low, low becomes c·high + d·low. */
type Factors = [a: number, b: number, c: number, d: number];

/** The steps that are the same whatever the cut bits of both numbers are; b is 0 if there are none. */
function certainSteps(high: number, low: number): Factors {
  let [a, b, c, d] = [1, 0, 0, 1];
  while (low + c !== 0 && low + d !== 0) {
    const quotient = Math.floor((high + a) / (low + c));
    if (quotient !== Math.floor((high + b) / (low + d))) break;
    [a, c] = [c, a - quotient * c];
    [b, d] = [d, b - quotient * d];
    [high, low] = [low, high - quotient * low];
  }
  return [a, b, c, d];
}

/** The steps to the end, of exact numbers. */
function allSteps(high: number, low: number): Factors {
  let [a, b, c, d] = [1, 0, 0, 1];
  while (low > 0) {
    const quotient = Math.floor(high / low);
    [a, c] = [c, a - quotient * c];
    [b, d] = [d, b - quotient * d];
    [high, low] = [low, high - quotient * low];
  }
  return [a, b, c, d];
}

/** The unsigned integer of the 32 big-endian bytes from `offset` on; there must be as many. */
export function integerAt(bytes: Uint8Array, offset: number): bigint {
  // Copied one by one: a view of a short array costs more than copying, since it moves the array out of the heap.
  for (let index = 0; index < 32; index += 1) scratch[index] = bytes[offset + index]!;
  const high = (words.getBigUint64(0) << 64n) | words.getBigUint64(8);
  const low = (words.getBigUint64(16) << 64n) | words.getBigUint64(24);
  return (high << 128n) | low;
}

/** As `integerAt`, of little-endian bytes. */
export function littleEndianIntegerAt(bytes: Uint8Array, offset: number): bigint {
  for (let index = 0; index < 32; index += 1) scratch[index] = bytes[offset + index]!;
  const high = (words.getBigUint64(24, true) << 64n) | words.getBigUint64(16, true);
  const low = (words.getBigUint64(8, true) << 64n) | words.getBigUint64(0, true);
  return (high << 128n) | low;
}

/** The unsigned integer of big-endian bytes of any length. */
export function integerFromBigEndian(bytes: Uint8Array): bigint {
  const { length } = bytes;
  if (length === 32) return integerAt(bytes, 0);
  if (length === 64) return (integerAt(bytes, 0) << 256n) | integerAt(bytes, 32);
  if (length === 0) return 0n;
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

/** The unsigned integer of little-endian bytes of any length. */
export function integerFromLittleEndian(bytes: Uint8Array): bigint {
  const { length } = bytes;
  if (length === 32) return littleEndianIntegerAt(bytes, 0);
  if (length === 64) return (littleEndianIntegerAt(bytes, 32) << 256n) | littleEndianIntegerAt(bytes, 0);
  if (length === 0) return 0n;
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

/** 32 bytes, big-endian; `value` must lie in [0, 2^256). */
export function bigEndian32(value: bigint): Uint8Array {
  // Each call writes the lowest 64 bits of its argument.
  words.setBigUint64(0, value >> 192n);
  words.setBigUint64(8, value >> 128n);
  words.setBigUint64(16, value >> 64n);
  words.setBigUint64(24, value);
  return scratch.slice();
}

/** 32 bytes, little-endian; `value` must lie in [0, 2^256). */
export function littleEndian32(value: bigint): Uint8Array {
  words.setBigUint64(24, value >> 192n, true);
  words.setBigUint64(16, value >> 128n, true);
  words.setBigUint64(8, value >> 64n, true);
  words.setBigUint64(0, value, true);
  return scratch.slice();
}
