/**
 * Arithmetic modulo a group order, and integers to and from bytes.
 *
 * Scalars are `bigint` in [0, order). JavaScript's BigInt is not constant time: signmesh is a simulator and makes no
 * claim against an attacker who measures the signer's own processor.
 */
import { CryptoError } from './errors.ts';

const MASK64 = (1n << 64n) - 1n;

/** The remainder in [0, order), also for a negative value. */
export function modulo(value: bigint, order: bigint): bigint {
  const remainder = value % order;
  return remainder < 0n ? remainder + order : remainder;
}

/**
 * The inverse of `value` modulo the prime `order`, by the extended Euclidean algorithm.
 * Zero has none: CryptoError INVALID_SCALAR.
 */
export function invert(value: bigint, order: bigint): bigint {
  let low = modulo(value, order);
  if (low === 0n) throw new CryptoError('INVALID_SCALAR', 'zero has no inverse');
  let high = order;
  let x = 1n;
  let y = 0n;
  while (low > 0n) {
    const quotient = high / low;
    [high, low] = [low, high - quotient * low];
    [y, x] = [x, y - quotient * x];
  }
  return modulo(y, order);
}

/** The unsigned integer that big-endian bytes of any length stand for. */
export function integerFromBigEndian(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`);
}

/** The unsigned integer that little-endian bytes of any length stand for. */
export function integerFromLittleEndian(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

/** 32 bytes, big-endian; `value` must lie in [0, 2^256). */
export function bigEndian32(value: bigint): Uint8Array {
  const result = new Uint8Array(32);
  const view = new DataView(result.buffer);
  view.setBigUint64(0, value >> 192n);
  view.setBigUint64(8, (value >> 128n) & MASK64);
  view.setBigUint64(16, (value >> 64n) & MASK64);
  view.setBigUint64(24, value & MASK64);
  return result;
}

/** 32 bytes, little-endian; `value` must lie in [0, 2^256). */
export function littleEndian32(value: bigint): Uint8Array {
  return bigEndian32(value).reverse();
}
