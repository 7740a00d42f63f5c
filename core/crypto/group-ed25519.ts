/**
 * The prime-order subgroup of edwards25519 (RFC 8032 §5.1) over the native libsodium.
 *
 * This file works around three limits of the library: its addition accepts the identity and points of mixed order, its
 * multiplication throws on a zero scalar, and checking that a point lies in the prime-order subgroup costs as much as
 * half a multiplication. So a bounded cache holds valid points (public data only): it checks commitments and
 * verification shares once, in however many rounds they occur.
 */
import sodium from 'sodium-native';
import { CryptoError } from './errors.ts';
import { valuesByDifferences } from './forward-differences.ts';
import { assertScalar, scalarCodec } from './group-scalars.ts';
import { BoundedMemo } from './memo.ts';
import type { Group, Term } from './prime-order-group.ts';
import { littleEndian32 } from './scalar.ts';

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const IDENTITY = Uint8Array.of(1, ...new Uint8Array(31));
const GENERATOR = baseMultiply(1n);

const VALID_POINTS_KEPT = 4096;
const validPoints = new BoundedMemo<string, true>(VALID_POINTS_KEPT);

function invalidPoint(): CryptoError {
  return new CryptoError('INVALID_POINT', 'not a point of prime order on edwards25519');
}

function identity(): CryptoError {
  return new CryptoError('IDENTITY_POINT', 'the result is the identity');
}

function isIdentity(point: Uint8Array): boolean {
  return point[0] === 1 && Buffer.compare(point, IDENTITY) === 0;
}

const keyOf = (point: Uint8Array): string =>
  Buffer.from(point.buffer, point.byteOffset, point.length).toString('latin1');

function isValidPoint(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false;
  const key = keyOf(bytes);
  if (validPoints.get(key) !== undefined) return true;
  // Refuses points that are not canonical, not on the curve, of small order, or outside the prime-order subgroup.
  if (!sodium.crypto_core_ed25519_is_valid_point(bytes)) return false;
  validPoints.set(key, true);
  return true;
}

function baseMultiply(scalar: bigint): Uint8Array {
  assertScalar(scalar, ORDER);
  if (scalar === 0n) throw identity();
  const result = new Uint8Array(32);
  sodium.crypto_scalarmult_ed25519_base_noclamp(result, littleEndian32(scalar));
  return result;
}

function multiply(point: Uint8Array, scalar: bigint): Uint8Array {
  assertScalar(scalar, ORDER);
  if (point.length !== 32) throw invalidPoint();
  if (scalar === 0n) throw identity();
  const result = new Uint8Array(32);
  try {
    // libsodium checks that the point is canonical and of prime order.
    sodium.crypto_scalarmult_ed25519_noclamp(result, littleEndian32(scalar), point);
  } catch {
    throw invalidPoint();
  }
  return result;
}

/** Adds without a check for the identity, which libsodium encodes and accepts; the callers check their final result. */
function addRaw(p: Uint8Array, q: Uint8Array): Uint8Array {
  const result = new Uint8Array(32);
  try {
    sodium.crypto_core_ed25519_add(result, p, q);
  } catch {
    throw invalidPoint();
  }
  return result;
}

function finished(point: Uint8Array): Uint8Array {
  if (isIdentity(point)) throw identity();
  return point;
}

function sum(points: readonly Uint8Array[]): Uint8Array {
  const first = points[0];
  if (first === undefined) throw identity();
  let total = first;
  for (let index = 1; index < points.length; index++) total = addRaw(total, points[index]!);
  return finished(points.length === 1 ? first.slice() : total);
}

/** x·P for a small x, by additions while they are cheaper than libsodium's fixed-cost multiplication. */
function multiplySmall(point: Uint8Array, x: number): Uint8Array {
  if (x === 1 || isIdentity(point)) return point;
  const bits = x.toString(2);
  const additions = bits.length - 1 + [...bits].filter((bit) => bit === '1').length - 1;
  if (additions > 6) return multiply(point, BigInt(x));
  let result = point;
  for (const bit of bits.slice(1)) {
    result = addRaw(result, result);
    if (bit === '1') result = addRaw(result, point);
  }
  return result;
}

/** Horner's rule from the highest coefficient down; an intermediate identity is legitimate. */
function evaluateAt(points: readonly Uint8Array[], x: number): Uint8Array {
  let result: Uint8Array | undefined;
  for (let k = points.length - 1; k >= 0; k--) {
    result = result === undefined ? points[k]! : addRaw(multiplySmall(result, x), points[k]!);
  }
  if (result === undefined) throw identity();
  return finished(points.length === 1 ? result.slice() : result);
}

/** The ed25519 group. Use `groupOf('ed25519')`. */
export const ed25519Group: Group = {
  ...scalarCodec(ORDER, 'little-endian'),
  curve: 'ed25519',
  order: ORDER,
  pointBytes: 32,
  generator: GENERATOR,
  isValidPoint,
  baseMultiply,
  multiply,
  add: (p, q) => finished(addRaw(p, q)),
  sum,
  negate(point) {
    if (!isValidPoint(point)) throw invalidPoint();
    const result = new Uint8Array(32);
    sodium.crypto_core_ed25519_sub(result, IDENTITY, point);
    return result;
  },
  linearCombination(base: bigint, terms: readonly Term[]) {
    assertScalar(base, ORDER);
    const addends: Uint8Array[] = [];
    if (base !== 0n) addends.push(baseMultiply(base));
    for (const [scalar, point] of terms) {
      assertScalar(scalar, ORDER);
      if (scalar === 0n) continue;
      if (scalar === 1n && !isValidPoint(point)) throw invalidPoint();
      addends.push(scalar === 1n ? point : multiply(point, scalar));
    }
    return sum(addends);
  },
  evaluateAt,
  evaluateAtEach(points, xs) {
    const values = valuesByDifferences(points, xs, { add: addRaw, times: multiplySmall });
    if (values === undefined) return xs.map((x) => evaluateAt(points, x));
    return values.map((value) => finished(points.length === 1 ? value.slice() : value));
  },
};
