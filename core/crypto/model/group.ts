/**
 * A MODEL OF A GROUP, NOT CRYPTOGRAPHY: the integers modulo a curve's order under addition, where a discrete logarithm
 * is a division.
 *
 * It has the order of the real group, and its linear algebra holds exactly: a wrong share, commitment, proof or partial
 * fails the check that it fails on the curve, but for a chance of 2^-250. An element has the length of the curve's
 * encoded points and their outward shape:
 *
 * - secp256k1: 2 or 3, then 32 bytes, big-endian. The smaller of an element and its inverse is the "abscissa", the
 *   prefix says which of the two is meant. So negation flips the prefix and keeps the abscissa, as BIP-340's even y and
 *   ECDSA's recovery id need it; an abscissa is always below the order.
 * - ed25519: 32 bytes, little-endian, with the otherwise free bit 254 set, which no scalar has.
 *
 * The generator is an arbitrary element other than 1, so that code that confuses a scalar with a point fails.
 */
import { CryptoError } from '../errors.ts';
import { assertScalar, scalarCodec } from '../group-scalars.ts';
import type { Curve, Group } from '../prime-order-group.ts';
import { bigEndian32, integerAt, littleEndian32, littleEndianIntegerAt } from '../scalar.ts';

/** The encoding of elements of [1, order). `read` returns undefined for bytes that are no element. */
interface Encoding {
  read(bytes: Uint8Array): bigint | undefined;
  /** Whether `read` finds an element, mostly from only the first bytes. */
  holds(bytes: Uint8Array): boolean;
  write(element: bigint): Uint8Array;
}

/** A model group, and its elements as integers for code that computes with several of them. */
export interface ModelGroup extends Group {
  /** The element in [1, order) of an encoded point; INVALID_POINT. */
  elementOf(point: Uint8Array): bigint;
  /** Zero: IDENTITY_POINT. The element lies in [0, order). */
  pointOf(element: bigint): Uint8Array;
  /** The generator as an integer. */
  readonly generatorElement: bigint;
}

const ed25519Mark = 0x40;

function secp256k1Encoding(order: bigint): Encoding {
  const half = order >> 1n;

  function read(bytes: Uint8Array): bigint | undefined {
    const prefix = bytes[0];
    if (bytes.length !== 33 || (prefix !== 2 && prefix !== 3)) return undefined;
    const abscissa = integerAt(bytes, 1);
    if (abscissa === 0n || abscissa > half) return undefined;
    return prefix === 2 ? abscissa : order - abscissa;
  }

  return {
    read,
    holds(bytes) {
      const prefix = bytes[0];
      if (bytes.length !== 33 || (prefix !== 2 && prefix !== 3)) return false;
      const first = bytes[1]!;
      // Half of the order begins with 7f.
      return first > 0 && first < 0x7f ? true : read(bytes) !== undefined;
    },
    write(element) {
      const odd = element > half;
      const bytes = new Uint8Array(33);
      bytes[0] = odd ? 3 : 2;
      bytes.set(bigEndian32(odd ? order - element : element), 1);
      return bytes;
    },
  };
}

function ed25519Encoding(order: bigint): Encoding {
  const mark = BigInt(ed25519Mark) << 248n;

  function read(bytes: Uint8Array): bigint | undefined {
    if (bytes.length !== 32 || (bytes[31]! & ed25519Mark) === 0) return undefined;
    const element = littleEndianIntegerAt(bytes, 0) - mark;
    return element > 0n && element < order ? element : undefined;
  }

  return {
    read,
    holds(bytes) {
      if (bytes.length !== 32) return false;
      const last = bytes[31]!;
      // The order begins with 10, and the mark stands above it.
      return last > ed25519Mark && last < ed25519Mark + 0x10 ? true : read(bytes) !== undefined;
    },
    write: (element) => littleEndian32(element + mark),
  };
}

function modelGroup(curve: Curve, order: bigint, generator: bigint): ModelGroup {
  const big = curve === 'secp256k1';
  const { read, holds, write } = big ? secp256k1Encoding(order) : ed25519Encoding(order);

  function elementOf(point: Uint8Array): bigint {
    const element = read(point);
    if (element === undefined) throw new CryptoError('INVALID_POINT', `not an element of the model of ${curve}`);
    return element;
  }

  function pointOf(element: bigint): Uint8Array {
    if (element === 0n) throw new CryptoError('IDENTITY_POINT', 'the result is the identity');
    return write(element);
  }

  function sum(points: readonly Uint8Array[]): Uint8Array {
    let total = 0n;
    for (const point of points) total += elementOf(point);
    return pointOf(total % order);
  }

  function evaluateAt(points: readonly Uint8Array[], x: number): Uint8Array {
    const at = BigInt(x);
    let value = 0n;
    for (let k = points.length - 1; k >= 0; k--) value = value * at + elementOf(points[k]!);
    return pointOf(value % order);
  }

  return {
    ...scalarCodec(order, big ? 'big-endian' : 'little-endian'),
    curve,
    order,
    pointBytes: big ? 33 : 32,
    generator: write(generator),
    generatorElement: generator,
    elementOf,
    pointOf,
    isValidPoint: holds,
    baseMultiply(scalar) {
      assertScalar(scalar, order);
      return pointOf((scalar * generator) % order);
    },
    multiply(point, scalar) {
      assertScalar(scalar, order);
      return pointOf((elementOf(point) * scalar) % order);
    },
    add: (p, q) => sum([p, q]),
    sum,
    negate: (point) => write(order - elementOf(point)),
    linearCombination(base, terms) {
      assertScalar(base, order);
      let total = base * generator;
      for (const [scalar, point] of terms) {
        assertScalar(scalar, order);
        if (scalar !== 0n) total += scalar * elementOf(point);
      }
      return pointOf(total % order);
    },
    evaluateAt,
    evaluateAtEach: (points, xs) => xs.map((x) => evaluateAt(points, x)),
  };
}

/** The first 32 bytes of the fractions of π and e: nothing-up-my-sleeve numbers, and any others would do. */
const pi = 0x243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89n;
const e = 0xb7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfefn;

/** The models of both groups, from the orders of the real ones. */
export function modelGroups(orders: Readonly<Record<Curve, bigint>>): Readonly<Record<Curve, ModelGroup>> {
  return {
    secp256k1: modelGroup('secp256k1', orders.secp256k1, pi % orders.secp256k1),
    ed25519: modelGroup('ed25519', orders.ed25519, e % orders.ed25519),
  };
}
