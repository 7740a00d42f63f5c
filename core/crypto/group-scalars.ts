/**
 * The scalar half of a group: encoding, strict decoding, and unbiased drawing. Shared by both curves, which differ only
 * in order and byte order.
 */
import { type RandomSource, takeRandom } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { bigEndian32, integerFromBigEndian, integerFromLittleEndian, littleEndian32, modulo } from './scalar.ts';

/** The scalar operations of `Group`, for one order and byte order. */
export interface ScalarCodec {
  encodeScalar(scalar: bigint): Uint8Array;
  decodeScalar(bytes: Uint8Array): bigint;
  decodeNonZeroScalar(bytes: Uint8Array): bigint;
  reduce(bytes: Uint8Array): bigint;
  randomScalar(random: RandomSource): bigint;
}

/** Builds the scalar operations for a group of prime `order`. */
export function scalarCodec(order: bigint, byteOrder: 'big-endian' | 'little-endian'): ScalarCodec {
  const encode = byteOrder === 'big-endian' ? bigEndian32 : littleEndian32;
  const integerFrom = byteOrder === 'big-endian' ? integerFromBigEndian : integerFromLittleEndian;

  function decodeScalar(bytes: Uint8Array): bigint {
    if (bytes.length !== 32) throw new CryptoError('INVALID_SCALAR', 'a scalar is 32 bytes');
    const scalar = integerFrom(bytes);
    if (scalar >= order) throw new CryptoError('INVALID_SCALAR', 'the scalar is not below the group order');
    return scalar;
  }

  return {
    encodeScalar(scalar) {
      assertScalar(scalar, order);
      return encode(scalar);
    },
    decodeScalar,
    decodeNonZeroScalar(bytes) {
      const scalar = decodeScalar(bytes);
      if (scalar === 0n) throw new CryptoError('INVALID_SCALAR', 'the scalar is zero');
      return scalar;
    },
    reduce: (bytes) => integerFrom(bytes) % order,
    // 512 bits reduced modulo a 256-bit number leave a bias below 2^-250; adding one keeps zero out without a retry.
    randomScalar: (random) => modulo(integerFrom(takeRandom(random, 64)), order - 1n) + 1n,
  };
}

/** Throws INVALID_SCALAR unless `scalar` lies in [0, order). */
export function assertScalar(scalar: bigint, order: bigint): void {
  if (scalar < 0n || scalar >= order) throw new CryptoError('INVALID_SCALAR', 'the scalar is outside the group order');
}
