/**
 * The two prime-order groups of keys, behind one interface.
 *
 * Scalars are `bigint` in [0, order); points are compressed bytes (SEC 1 §2.3.3, 33 bytes, for secp256k1; RFC 8032
 * §5.1.2, 32 bytes, for ed25519). The identity has no encoding here: an operation whose result would be the identity
 * throws CryptoError IDENTITY_POINT, and a received identity is INVALID_POINT (RFC 9591 §3.1).
 *
 * Invariant: every received point passes `isValidPoint` before it is added to anything. Multiplications
 * check their inputs; additions do not, since sums of valid points are valid.
 */
import type { RandomSource } from './bytes.ts';

/** The curves that keys can live on. */
export type Curve = 'secp256k1' | 'ed25519';

/** A scalar and the point that it multiplies. */
export type Term = readonly [scalar: bigint, point: Uint8Array];

/** A group of prime order with its encodings. All returned arrays are fresh; no function stores or changes its arguments. */
export interface Group {
  readonly curve: Curve;
  /** The prime order of the group (q for secp256k1, L for ed25519). */
  readonly order: bigint;
  /** Length of an encoded point: 33 or 32 bytes. */
  readonly pointBytes: number;
  /** The generator, encoded. Treat as read-only. */
  readonly generator: Uint8Array;
  /** 32 bytes, big-endian for secp256k1, little-endian for ed25519. INVALID_SCALAR outside [0, order). */
  encodeScalar(scalar: bigint): Uint8Array;
  /** The scalar in [0, order) of exactly 32 bytes; any other length or value: INVALID_SCALAR. */
  decodeScalar(bytes: Uint8Array): bigint;
  /** As `decodeScalar`, and zero is INVALID_SCALAR too. */
  decodeNonZeroScalar(bytes: Uint8Array): bigint;
  /** Bytes of any length as an integer in the group's byte order, reduced. Unbiased from 48 bytes of randomness on. */
  reduce(bytes: Uint8Array): bigint;
  /** A uniform scalar in [1, order), from 64 bytes of `random`. Secret. */
  randomScalar(random: RandomSource): bigint;
  /** Whether the bytes are the canonical encoding of a point of the prime-order group other than the identity. */
  isValidPoint(bytes: Uint8Array): boolean;
  /** `scalar`·G. Zero: IDENTITY_POINT. */
  baseMultiply(scalar: bigint): Uint8Array;
  /** `scalar`·`point`, checking the point. Zero: IDENTITY_POINT. */
  multiply(point: Uint8Array, scalar: bigint): Uint8Array;
  /** The sum of two valid points. */
  add(p: Uint8Array, q: Uint8Array): Uint8Array;
  /** The sum of one or more valid points; none: IDENTITY_POINT. */
  sum(points: readonly Uint8Array[]): Uint8Array;
  /** The inverse of a valid point. */
  negate(point: Uint8Array): Uint8Array;
  /** `base`·G plus the sum of all terms; ignores zero scalars and checks points. The fast path of verification. */
  linearCombination(base: bigint, terms: readonly Term[]): Uint8Array;
  /** Σ x^k · points[k]: a polynomial in the exponent at the small positive integer `x`. Points must be valid. */
  evaluateAt(points: readonly Uint8Array[], x: number): Uint8Array;
  /** As `evaluateAt`, at each of the ascending integers. */
  evaluateAtEach(points: readonly Uint8Array[], xs: readonly number[]): Uint8Array[];
}
