/**
 * secp256k1 (SEC 2 §2.4.1) over libsecp256k1, with points as compressed SEC 1 encodings.
 *
 * Parsing a compressed point costs a square root, about a quarter of a multiplication; intermediate results therefore
 * stay uncompressed (65 bytes) inside this file, which compresses only the end result.
 */
import { Variant } from './backend.ts';
import { CryptoError } from './errors.ts';
import { type SmallArithmetic, valuesByDifferences } from './forward-differences.ts';
import { assertScalar, scalarCodec } from './group-scalars.ts';
import type { Group, Term } from './prime-order-group.ts';
import { bigEndian32, integerFromBigEndian } from './scalar.ts';
import { secp256k1 } from './secp256k1.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const GENERATOR = secp256k1.publicKeyCreate(bigEndian32(1n));

function isValidPoint(bytes: Uint8Array): boolean {
  return bytes.length === 33 && secp256k1.publicKeyVerify(bytes);
}

function invalidPoint(): CryptoError {
  return new CryptoError('INVALID_POINT', 'not a point of secp256k1');
}

function identity(): CryptoError {
  return new CryptoError('IDENTITY_POINT', 'the result is the point at infinity');
}

function multiplyRaw(point: Uint8Array, scalar: bigint, compressed: boolean): Uint8Array {
  if (scalar === 0n) throw identity();
  try {
    return secp256k1.publicKeyTweakMul(point, bigEndian32(scalar), compressed);
  } catch {
    throw invalidPoint();
  }
}

function combine(points: Uint8Array[], compressed: boolean): Uint8Array {
  if (points.length === 0) throw identity();
  try {
    return secp256k1.publicKeyCombine(points, compressed);
  } catch {
    throw points.every((point) => secp256k1.publicKeyVerify(point)) ? identity() : invalidPoint();
  }
}

/**
 * base·G + scalar·P in one interleaved double multiplication, through ECDSA key recovery (SEC 1 §4.1.6): recovery
 * computes r⁻¹(s·R − m·G) for the R with abscissa r, so that R = P, s = scalar·r and m = −base·r give just this sum.
 * Needs P's abscissa below the order, which fails once in 2^128 points; the caller then multiplies and adds.
 */
function doubleMultiply(base: bigint, scalar: bigint, point: Uint8Array, compressed: boolean): Uint8Array | undefined {
  const prefix = point[0]!;
  if (point.length !== 33 || (prefix !== 2 && prefix !== 3)) throw invalidPoint();
  const abscissa = integerFromBigEndian(point.subarray(1));
  if (abscissa >= ORDER) return undefined;
  const signature = new Uint8Array(64);
  signature.set(point.subarray(1));
  signature.set(bigEndian32((scalar * abscissa) % ORDER), 32);
  const digest = bigEndian32(((ORDER - base) * abscissa) % ORDER);
  try {
    return secp256k1.ecdsaRecover(signature, prefix & 1, digest, compressed);
  } catch {
    throw isValidPoint(point) ? identity() : invalidPoint();
  }
}

/** base·G + P, which needs no multiplication of P. */
function tweakAdd(base: bigint, point: Uint8Array): Uint8Array {
  assertLength(point);
  try {
    return secp256k1.publicKeyTweakAdd(point, bigEndian32(base));
  } catch {
    throw isValidPoint(point) ? identity() : invalidPoint();
  }
}

function linearCombination(base: bigint, terms: readonly Term[]): Uint8Array {
  assertScalar(base, ORDER);
  const live = terms.filter(([scalar]) => {
    assertScalar(scalar, ORDER);
    return scalar !== 0n;
  });
  if (live.length === 1 && live[0]![0] === 1n) return tweakAdd(base, live[0]![1]);
  const addends: Uint8Array[] = [];
  let pending = base;
  for (const [scalar, point] of live) {
    if (pending !== 0n) {
      let both: Uint8Array | undefined;
      try {
        both = doubleMultiply(pending, scalar, point, live.length === 1);
      } catch (error) {
        // The two parts cancel out: they contribute nothing, and the sum continues.
        if (!(error instanceof CryptoError) || error.code !== 'IDENTITY_POINT') throw error;
        pending = 0n;
        continue;
      }
      if (both !== undefined) {
        if (live.length === 1) return both;
        addends.push(both);
        pending = 0n;
        continue;
      }
    }
    addends.push(scalar === 1n ? point : multiplyRaw(point, scalar, false));
  }
  if (pending !== 0n) addends.push(secp256k1.publicKeyCreate(bigEndian32(pending), false));
  return combine(addends, true);
}

const uncompressed: SmallArithmetic<Uint8Array> = {
  add: (p, q) => combine([p, q], false),
  times: (point, factor) => (factor === 1 ? point : multiplyRaw(point, BigInt(factor), false)),
};

function evaluateAt(points: readonly Uint8Array[], x: number): Uint8Array {
  let power = 1n;
  const addends: Uint8Array[] = [];
  for (const point of points) {
    addends.push(power === 1n ? assertLength(point) : multiplyRaw(assertLength(point), power, false));
    power = (power * BigInt(x)) % ORDER;
  }
  return combine(addends, true);
}

/** The secp256k1 group. Use `groupOf('secp256k1')`. */
export const secp256k1Group: Group = {
  ...scalarCodec(ORDER, 'big-endian'),
  curve: 'secp256k1',
  order: ORDER,
  pointBytes: 33,
  generator: GENERATOR,
  isValidPoint,
  baseMultiply(scalar) {
    assertScalar(scalar, ORDER);
    if (scalar === 0n) throw identity();
    return secp256k1.publicKeyCreate(bigEndian32(scalar));
  },
  multiply(point, scalar) {
    assertScalar(scalar, ORDER);
    return multiplyRaw(assertLength(point), scalar, true);
  },
  add: (p, q) => combine([assertLength(p), assertLength(q)], true),
  sum: (points) => combine(points.map(assertLength), true),
  negate(point) {
    if (!isValidPoint(point)) throw invalidPoint();
    const negated = new Uint8Array(point);
    // The prefix holds the parity of y, and negation changes nothing but y's sign.
    negated[0] = point[0]! ^ 1;
    return negated;
  },
  linearCombination,
  evaluateAt,
  evaluateAtEach(points, xs) {
    try {
      const values = valuesByDifferences(points.map(assertLength), xs, uncompressed);
      if (values !== undefined) return values.map((value) => secp256k1.publicKeyConvert(value));
    } catch (error) {
      // An identity on the way, which this library cannot represent.
      if (!(error instanceof CryptoError) || error.code !== 'IDENTITY_POINT') throw error;
    }
    return xs.map((x) => evaluateAt(points, x));
  },
};

function assertLength(point: Uint8Array): Uint8Array {
  if (point.length !== 33) throw invalidPoint();
  return point;
}

/** The function in use; the model has its own. */
export const uncompressing = new Variant((publicKey: Uint8Array): Uint8Array => {
  if (!isValidPoint(publicKey)) throw invalidPoint();
  return secp256k1.publicKeyConvert(publicKey, false);
});

/** The 65-byte uncompressed encoding (0x04 ‖ x ‖ y) of a 33-byte public key, for address makers. INVALID_POINT. */
export function uncompress(publicKey: Uint8Array): Uint8Array {
  return uncompressing.current(publicKey);
}
