/** The model groups: the laws of a group of prime order, the encodings, and what is refused. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../core/crypto/bytes.ts';
import { type Curve, groupOf } from '../../../../core/crypto/group.ts';
import { withCryptography } from '../../../../core/crypto/model/switch.ts';
import { invert } from '../../../../core/crypto/scalar.ts';
import { CURVES, expectRefusal, seededRandom } from '../support.ts';
import { withTheModel } from './support.ts';

withTheModel();

const scalars = (curve: Curve) =>
  fc.bigInt({ min: 1n, max: withCryptography('model', () => groupOf(curve).order) - 1n });

describe.each(CURVES)('the model of %s', (curve) => {
  const scalar = scalars(curve);

  test('has the order and the lengths of the real group, and other points', () => {
    const real = withCryptography('real', () => groupOf(curve));
    const model = groupOf(curve);
    expect(model).not.toBe(real);
    expect(model.order).toBe(real.order);
    expect(model.pointBytes).toBe(real.pointBytes);
    expect(model.generator).toHaveLength(real.generator.length);
    expect(model.generator).not.toEqual(real.generator);
    expect(model.encodeScalar(7n)).toEqual(real.encodeScalar(7n));
  });

  test('adds as scalars do, commutes and associates', () => {
    const group = groupOf(curve);
    fc.assert(
      fc.property(scalar, scalar, scalar, (a, b, c) => {
        fc.pre((a + b) % group.order !== 0n && (b + c) % group.order !== 0n && (a + b + c) % group.order !== 0n);
        const [A, B, C] = [a, b, c].map((value) => group.baseMultiply(value)) as [Uint8Array, Uint8Array, Uint8Array];
        expect(group.add(A, B)).toEqual(group.baseMultiply((a + b) % group.order));
        expect(group.add(A, B)).toEqual(group.add(B, A));
        expect(group.add(group.add(A, B), C)).toEqual(group.add(A, group.add(B, C)));
        expect(group.sum([A, B, C])).toEqual(group.add(group.add(A, B), C));
        expect(group.multiply(A, b)).toEqual(group.multiply(B, a));
        expect(group.multiply(group.multiply(A, b), invert(b, group.order))).toEqual(A);
      }),
    );
  });

  test('combines and evaluates linearly', () => {
    const group = groupOf(curve);
    fc.assert(
      fc.property(scalar, scalar, scalar, fc.integer({ min: 1, max: 100 }), (a, b, c, x) => {
        const points = [a, b, c].map((value) => group.baseMultiply(value));
        const at = BigInt(x);
        const value = (a + b * at + c * at * at) % group.order;
        fc.pre(value !== 0n);
        expect(group.evaluateAt(points, x)).toEqual(group.baseMultiply(value));
        expect(
          group.linearCombination(a, [
            [at, points[1]!],
            [(at * at) % group.order, points[2]!],
            [0n, points[2]!],
          ]),
        ).toEqual(group.baseMultiply(value));
      }),
    );
  });

  test('has inverses, and no encoding of the identity', () => {
    const group = groupOf(curve);
    fc.assert(
      fc.property(scalar, (a) => {
        const A = group.baseMultiply(a);
        expect(group.negate(A)).toEqual(group.baseMultiply(group.order - a));
        expect(group.negate(group.negate(A))).toEqual(A);
        expectRefusal('IDENTITY_POINT', () => group.add(A, group.negate(A)));
        expectRefusal('IDENTITY_POINT', () => group.multiply(A, 0n));
      }),
      { numRuns: 20 },
    );
    expectRefusal('IDENTITY_POINT', () => group.baseMultiply(0n));
    expectRefusal('IDENTITY_POINT', () => group.sum([]));
    expectRefusal('INVALID_SCALAR', () => group.baseMultiply(group.order));
  });

  test('what is a point is read as one, and what is not is refused, wherever the bytes are changed', () => {
    const group = groupOf(curve);
    fc.assert(
      fc.property(scalar, fc.nat({ max: group.pointBytes - 1 }), fc.nat({ max: 255 }), (a, at, byte) => {
        const changed = group.baseMultiply(a);
        changed[at] = byte;
        if (group.isValidPoint(changed)) expect(group.negate(group.negate(changed))).toEqual(changed);
        else expectRefusal('INVALID_POINT', () => group.negate(changed));
      }),
      { numRuns: 500 },
    );
  });

  test('knows its points: one encoding each, and no scalar, real point or other length is one', () => {
    const group = groupOf(curve);
    const random = seededRandom(`points ${curve}`);
    for (let round = 0; round < 50; round++) {
      const secret = group.randomScalar(random);
      const point = group.baseMultiply(secret);
      expect(point).toHaveLength(group.pointBytes);
      expect(group.isValidPoint(point)).toBe(true);
      expect(group.isValidPoint(group.encodeScalar(secret))).toBe(false);
      expect(group.isValidPoint(point.subarray(1))).toBe(false);
      expect(toHex(point)).not.toContain(toHex(group.encodeScalar(secret)));
    }
    for (const wrong of [new Uint8Array(group.pointBytes), new Uint8Array(group.pointBytes).fill(255)]) {
      expect(group.isValidPoint(wrong)).toBe(false);
      expectRefusal('INVALID_POINT', () => group.multiply(wrong, 2n));
      expectRefusal('INVALID_POINT', () => group.add(group.generator, wrong));
      expectRefusal('INVALID_POINT', () => group.negate(wrong));
    }
    // The identity of edwards25519, a point of small order.
    expect(group.isValidPoint(Uint8Array.of(1, ...new Uint8Array(31)))).toBe(false);
  });
});

test('secp256k1: a point and its inverse share the abscissa and differ in the prefix', () => {
  const group = groupOf('secp256k1');
  const prefixes = new Set<number>();
  fc.assert(
    fc.property(scalars('secp256k1'), (a) => {
      const point = group.baseMultiply(a);
      const inverse = group.negate(point);
      expect(inverse.slice(1)).toEqual(point.slice(1));
      expect(inverse[0]! ^ point[0]!).toBe(1);
      prefixes.add(point[0]!);
    }),
  );
  expect(prefixes).toEqual(new Set([2, 3]));
});
