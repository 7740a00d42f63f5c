import { hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { u32be, utf8 } from '../../../core/crypto/bytes.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import {
  assertNodeId,
  assertThreshold,
  evaluate,
  lagrangeCoefficient,
  lagrangeCoefficients,
  polynomialFromSeed,
  randomPolynomial,
} from '../../../core/crypto/polynomial.ts';
import { CURVES, chooseNodes, expectRefusal, seededRandom } from './support.ts';

describe.each(CURVES)('polynomials over the scalars of %s', (curve) => {
  const { order } = groupOf(curve);

  it('give their secret back from any t values, up to 100 nodes', () => {
    const random = seededRandom(`lagrange ${curve}`);
    const sizes = fc
      .integer({ min: 2, max: 100 })
      .chain((n) => fc.tuple(fc.integer({ min: 2, max: n }), fc.constant(n)));
    fc.assert(
      fc.property(sizes, ([t, n]) => {
        const polynomial = randomPolynomial(curve, t, random);
        const nodes = chooseNodes(n, t, random);
        const lambdas = lagrangeCoefficients(curve, nodes);
        const secret = nodes.reduce((sum, id) => sum + lambdas.get(id)! * evaluate(curve, polynomial, id), 0n) % order;
        expect(secret).toBe(polynomial[0]);
      }),
      { numRuns: 25 },
    );
  });

  it('have the Lagrange coefficients of every set of ids: the powers of the ids add up to 0, and to 1 of exponent 0', () => {
    const ids = [1, 2, 3, 4, 5, 23];
    for (let members = 1; members < 2 ** ids.length; members += 1) {
      const set = ids.filter((_, index) => ((members >> index) & 1) === 1);
      const lambdas = lagrangeCoefficients(curve, set);
      const sums = set.map(
        (_, power) => set.reduce((sum, id) => sum + lambdas.get(id)! * BigInt(id) ** BigInt(power), 0n) % order,
      );
      expect(sums, set.join()).toEqual(set.map((_, power) => (power === 0 ? 1n : 0n)));
    }
  });

  it('do not give it from t - 1 values', () => {
    const polynomial = randomPolynomial(curve, 3, seededRandom('too few'));
    const lambdas = lagrangeCoefficients(curve, [1, 2]);
    const guess =
      ([1, 2].reduce((sum, id) => sum + lambdas.get(id)! * evaluate(curve, polynomial, id), 0n) + order) % order;
    expect(guess).not.toBe(polynomial[0]);
  });

  it('come from a seed alike every time, and differ by node, name, threshold and seed', () => {
    const seed = new Uint8Array(32).fill(7);
    const first = polynomialFromSeed(curve, 3, seed, 1, 'treasury');
    expect(polynomialFromSeed(curve, 3, seed, 1, 'treasury')).toEqual(first);
    expect(new Set(first).size).toBe(3);
    for (const coefficient of first) expect(coefficient > 0n && coefficient < order).toBe(true);
    const others = [
      polynomialFromSeed(curve, 3, seed, 2, 'treasury'),
      polynomialFromSeed(curve, 3, seed, 1, 'treasury2'),
      polynomialFromSeed(curve, 4, seed, 1, 'treasury'),
      polynomialFromSeed(curve, 3, new Uint8Array(32).fill(8), 1, 'treasury'),
    ];
    for (const other of others) expect(other[0]).not.toBe(first[0]);
    expectRefusal('INVALID_BYTES', () => polynomialFromSeed(curve, 3, new Uint8Array(31), 1, 'x'));
    expectRefusal('INVALID_NODE_ID', () => polynomialFromSeed(curve, 3, seed, 0, 'x'));
  });

  it('come from a seed by HKDF, reduced to [1, order)', () => {
    const seed = new Uint8Array(32).fill(7);
    const part = (bytes: Uint8Array) => Buffer.concat([u32be(bytes.length), bytes]);
    const expected = [0, 1, 2].map((k) => {
      const parts = [utf8(curve), u32be(3), u32be(2), utf8('treasury'), u32be(k)];
      const info = Buffer.concat(parts.map(part));
      const bytes = Buffer.from(hkdfSync('sha256', seed, 'signmesh/seeded-polynomial/v1', info, 64));
      return (BigInt(`0x${bytes.toString('hex')}`) % (order - 1n)) + 1n;
    });
    expect(polynomialFromSeed(curve, 3, seed, 2, 'treasury')).toEqual(expected);
  });

  it('refuse signer sets with duplicates, strangers or impossible ids', () => {
    for (const ids of [
      [1, 1],
      [0, 1],
      [1, 101],
      [1, 1.5],
    ]) {
      expectRefusal('INVALID_NODE_ID', () => lagrangeCoefficients(curve, ids));
    }
    expectRefusal('INVALID_NODE_ID', () => lagrangeCoefficient(curve, [1, 2, 3], 4));
  });
});

it('refuses thresholds below 2, above n, and n above 100', () => {
  for (const [t, n] of [
    [1, 5],
    [0, 0],
    [6, 5],
    [2, 101],
    [2.5, 5],
    [2, Number.NaN],
  ] as const) {
    expectRefusal('INVALID_THRESHOLD', () => assertThreshold(t, n));
  }
  for (const [t, n] of [
    [2, 2],
    [3, 5],
    [100, 100],
  ] as const)
    assertThreshold(t, n);
});

it('accepts node ids from 1 to 100, or to the bound that is given', () => {
  for (const id of [1, 100]) assertNodeId(id);
  assertNodeId(5, 5);
  for (const id of [0, 101, -1, 1.5, Number.NaN]) expectRefusal('INVALID_NODE_ID', () => assertNodeId(id));
  expectRefusal('INVALID_NODE_ID', () => assertNodeId(6, 5));
});
