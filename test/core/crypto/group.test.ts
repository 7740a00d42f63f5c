import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, fromHex, toHex } from '../../../core/crypto/bytes.ts';
import { frostContext, isValidFrostCommitment } from '../../../core/crypto/frost/context.ts';
import { assertValidPoint, type Curve, cryptoBackend, groupOf, uncompress } from '../../../core/crypto/group.ts';
import { combineCommitments, validateCommitments, verifyShare } from '../../../core/crypto/vss.ts';
import { runs } from '../../support/thorough.ts';
import {
  CURVES,
  expectRefusal,
  flipBit,
  pointBeyondOrder,
  seededRandom,
  toleratesOnlyCryptoErrors,
} from './support.ts';

/** The oracle: @noble/curves, reduced to what is compared, with points as hex and the identity as undefined. */
const oracle = {
  secp256k1: {
    order: secp256k1.Point.Fn.ORDER,
    times: (point: Uint8Array, scalar: bigint) => secp256k1.Point.fromBytes(point).multiplyUnsafe(scalar),
    base: (scalar: bigint) => secp256k1.Point.BASE.multiplyUnsafe(scalar),
  },
  ed25519: {
    order: ed25519.Point.Fn.ORDER,
    times: (point: Uint8Array, scalar: bigint) => ed25519.Point.fromBytes(point).multiplyUnsafe(scalar),
    base: (scalar: bigint) => ed25519.Point.BASE.multiplyUnsafe(scalar),
  },
};

const scalars = (curve: Curve) => fc.bigInt({ min: 0n, max: groupOf(curve).order - 1n });
const nonZero = (curve: Curve) => fc.bigInt({ min: 1n, max: groupOf(curve).order - 1n });
const usual = { numRuns: runs(12, 25) };

describe.each(CURVES)('the %s group', (curve) => {
  const group = groupOf(curve);
  const theirs = oracle[curve];
  const G = group.generator;

  /** `compute` gives scalar·G, or refuses where that is the identity. */
  function expectMultiple(scalar: bigint, compute: () => Uint8Array): void {
    if (scalar % group.order === 0n) expectRefusal('IDENTITY_POINT', compute);
    else expect(compute()).toEqual(group.baseMultiply(scalar % group.order));
  }

  it('has the order and the generator of the standard', () => {
    expect(group.order).toBe(theirs.order);
    expect(toHex(G)).toBe(theirs.base(1n).toHex());
    expect(G).toHaveLength(group.pointBytes);
  });

  it('multiplies as @noble/curves does', () => {
    fc.assert(
      fc.property(nonZero(curve), nonZero(curve), (a, b) => {
        const P = group.baseMultiply(a);
        expect(toHex(P)).toBe(theirs.base(a).toHex());
        expect(toHex(group.multiply(P, b))).toBe(theirs.times(P, b).toHex());
      }),
      usual,
    );
  });

  it('adds, sums and negates as scalars do', () => {
    fc.assert(
      fc.property(nonZero(curve), nonZero(curve), nonZero(curve), (a, b, c) => {
        const [P, Q, R] = [a, b, c].map(group.baseMultiply) as [Uint8Array, Uint8Array, Uint8Array];
        expectMultiple(a + b, () => group.add(P, Q));
        expectMultiple(a + b + c, () => group.sum([P, Q, R]));
        expect(group.negate(P)).toEqual(group.baseMultiply(group.order - a));
        expect(group.sum([P])).toEqual(P);
      }),
      usual,
    );
  });

  it('computes linear combinations with any number of terms, zeros included', () => {
    const term = fc.tuple(scalars(curve), nonZero(curve));
    fc.assert(
      fc.property(fc.oneof(fc.constant(0n), scalars(curve)), fc.array(term, { maxLength: 3 }), (base, terms) => {
        const total = terms.reduce((sum, [scalar, log]) => sum + scalar * log, base) % group.order;
        const points = terms.map(([scalar, log]) => [scalar, group.baseMultiply(log)] as const);
        expectMultiple(total, () => group.linearCombination(base, points));
      }),
      usual,
    );
    const P = group.baseMultiply(7n);
    expect(group.linearCombination(3n, [[1n, P]])).toEqual(group.baseMultiply(10n));
    // Two parts cancel on the way, and the third remains.
    expect(
      group.linearCombination(group.order - 14n, [
        [2n, P],
        [1n, P],
      ]),
    ).toEqual(P);
  });

  it('evaluates polynomials in the exponent, also through an identity on the way', () => {
    fc.assert(
      fc.property(
        fc.array(nonZero(curve), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 100 }),
        (a, x) => {
          const value = a.reduceRight((sum, coefficient) => (sum * BigInt(x) + coefficient) % group.order, 0n);
          const points = a.map(group.baseMultiply);
          if (value === 0n) expectRefusal('IDENTITY_POINT', () => group.evaluateAt(points, x));
          else expect(group.evaluateAt(points, x)).toEqual(group.baseMultiply(value));
        },
      ),
      { numRuns: runs(15, 40) },
    );
    const polynomial = [5n, group.order - 6n, 2n].map(group.baseMultiply);
    expect(group.evaluateAt(polynomial, 3)).toEqual(group.baseMultiply(5n));
    expectRefusal('IDENTITY_POINT', () => group.evaluateAt([5n, group.order - 5n].map(group.baseMultiply), 1));
  });

  it('evaluates at every node id', () => {
    const points = [3n, 7n].map(group.baseMultiply);
    for (let x = 1; x <= 100; x += 1) {
      expect(toHex(group.evaluateAt(points, x)), `at ${x}`).toBe(toHex(group.baseMultiply(3n + 7n * BigInt(x))));
    }
  });

  it('evaluates them at several numbers, by differences and where those do not pay', () => {
    const ascending = (max: number) => fc.uniqueArray(fc.integer({ min: 1, max }), { minLength: 1, maxLength: 7 });
    const valueAt = (a: readonly bigint[], x: number) =>
      a.reduceRight((sum, coefficient) => (sum * BigInt(x) + coefficient) % group.order, 0n);
    fc.assert(
      fc.property(
        fc.array(nonZero(curve), { minLength: 1, maxLength: 9 }),
        fc.oneof(ascending(8), ascending(100)),
        (a, ids) => {
          const xs = ids.sort((one, other) => one - other);
          const expected = xs.map((x) => group.baseMultiply(valueAt(a, x)));
          expect(group.evaluateAtEach(a.map(group.baseMultiply), xs)).toEqual(expected);
        },
      ),
      { numRuns: runs(12, 60) },
    );
    // 6 − 6x + x² has the values 1, −2, −3, −2, and a second difference that meets its opposite on the way; x − 1 is zero at 1.
    const polynomial = [6n, group.order - 6n, 1n];
    const points = polynomial.map(group.baseMultiply);
    expect(group.evaluateAtEach(points, [1, 2, 3, 4])).toEqual(
      [1, 2, 3, 4].map((x) => group.baseMultiply(valueAt(polynomial, x))),
    );
    const straight = [1n, 1n, group.order - 1n, 1n].map(group.baseMultiply);
    expect(group.evaluateAtEach(straight, [1, 2])).toEqual([2n, 7n].map(group.baseMultiply));
    const zeroAtOne = [group.order - 1n, 1n].map(group.baseMultiply);
    expectRefusal('IDENTITY_POINT', () => group.evaluateAtEach(zeroAtOne, [1, 2]));
    expect(group.evaluateAtEach(zeroAtOne, [2, 3])).toEqual([1n, 2n].map(group.baseMultiply));
    expectRefusal('IDENTITY_POINT', () => group.evaluateAtEach([], [1]));
    const one = group.evaluateAtEach([G], [1])[0]!;
    one[0]! ^= 1;
    expect(group.generator).not.toEqual(one);
  });

  it('throws IDENTITY_POINT wherever a result would be the identity', () => {
    const P = group.baseMultiply(9n);
    const calls = [
      () => group.baseMultiply(0n),
      () => group.multiply(P, 0n),
      () => group.add(P, group.negate(P)),
      () => group.sum([]),
      () => group.sum([P, P, group.baseMultiply(group.order - 18n)]),
      () => group.linearCombination(0n, []),
      () => group.linearCombination(0n, [[0n, P]]),
      () => group.linearCombination(group.order - 9n, [[1n, P]]),
      () => group.linearCombination(group.order - 18n, [[2n, P]]),
    ];
    for (const call of calls) expectRefusal('IDENTITY_POINT', call);
  });

  it('refuses points that are not on the curve, and wrong lengths, in every operation', () => {
    const P = group.baseMultiply(9n);
    const wrong = [
      new Uint8Array(0),
      new Uint8Array(group.pointBytes),
      P.subarray(1),
      concatBytes(P, P),
      fc.sample(fc.uint8Array({ minLength: 65, maxLength: 65 }), 1)[0]!,
    ];
    for (const point of wrong) {
      expect(group.isValidPoint(point)).toBe(false);
      expectRefusal('INVALID_POINT', () => group.multiply(point, 2n));
      expectRefusal('INVALID_POINT', () => group.negate(point));
      expectRefusal('INVALID_POINT', () => group.linearCombination(3n, [[2n, point]]));
      expectRefusal('INVALID_POINT', () => group.linearCombination(3n, [[1n, point]]));
      expectRefusal('INVALID_POINT', () => group.linearCombination(0n, [[1n, point]]));
      expectRefusal('INVALID_POINT', () => assertValidPoint(curve, point, 'it'));
    }
  });

  it('judges any bytes as @noble/curves does, and throws nothing but CryptoErrors', () => {
    const P = group.baseMultiply(12345n);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.nat().map((bit) => flipBit(P, bit)),
          fc.uint8Array({ maxLength: 70 }),
        ),
        (bytes) => {
          let valid = bytes.length === group.pointBytes;
          try {
            const point = curve === 'secp256k1' ? secp256k1.Point.fromBytes(bytes) : ed25519.Point.fromBytes(bytes);
            valid &&= !point.is0() && point.isTorsionFree();
          } catch {
            valid = false;
          }
          expect(group.isValidPoint(bytes)).toBe(valid);
          toleratesOnlyCryptoErrors(() => group.multiply(bytes, 3n));
          toleratesOnlyCryptoErrors(() => group.add(bytes, P));
          toleratesOnlyCryptoErrors(() => group.sum([P, bytes]));
          toleratesOnlyCryptoErrors(() => group.negate(bytes));
          toleratesOnlyCryptoErrors(() => group.evaluateAt([P, bytes], 3));
          toleratesOnlyCryptoErrors(() => group.linearCombination(5n, [[3n, bytes]]));
          toleratesOnlyCryptoErrors(() => group.decodeScalar(bytes));
        },
      ),
      { numRuns: runs(20, 60) },
    );
  });

  it('encodes and decodes scalars one to one, and refuses what is not below the order', () => {
    fc.assert(
      fc.property(scalars(curve), (scalar) => {
        expect(group.decodeScalar(group.encodeScalar(scalar))).toBe(scalar);
        expect(toHex(group.encodeScalar(scalar))).toBe(
          toHex((curve === 'secp256k1' ? secp256k1 : ed25519).Point.Fn.toBytes(scalar)),
        );
      }),
      { numRuns: runs(35, 100) },
    );
    const littleOrder = group.encodeScalar(group.order - 1n);
    littleOrder[curve === 'secp256k1' ? 31 : 0]! += 1;
    for (const bytes of [littleOrder, new Uint8Array(32).fill(0xff), new Uint8Array(31), new Uint8Array(33)]) {
      expectRefusal('INVALID_SCALAR', () => group.decodeScalar(bytes));
    }
    expect(group.decodeScalar(new Uint8Array(32))).toBe(0n);
    expectRefusal('INVALID_SCALAR', () => group.decodeNonZeroScalar(new Uint8Array(32)));
    for (const scalar of [-1n, group.order]) {
      expectRefusal('INVALID_SCALAR', () => group.encodeScalar(scalar));
      expectRefusal('INVALID_SCALAR', () => group.baseMultiply(scalar));
      expectRefusal('INVALID_SCALAR', () => group.multiply(G, scalar));
      expectRefusal('INVALID_SCALAR', () => group.linearCombination(1n, [[scalar, G]]));
    }
  });

  it('draws scalars that are never zero and below the order', () => {
    const random = seededRandom(`scalars of ${curve}`);
    const drawn = Array.from({ length: 50 }, () => group.randomScalar(random));
    expect(new Set(drawn).size).toBe(50);
    for (const scalar of drawn) expect(scalar > 0n && scalar < group.order).toBe(true);
    expect(group.randomScalar((length) => new Uint8Array(length))).toBe(1n);
    // From 64 bytes: fewer, reduced, would favour small scalars.
    const bytes = random(64);
    const integer = BigInt(`0x${toHex(curve === 'secp256k1' ? bytes : bytes.slice().reverse())}`);
    const asked: number[] = [];
    const drawnNow = group.randomScalar((length) => {
      asked.push(length);
      return bytes.slice(0, length);
    });
    expect(asked).toEqual([64]);
    expect(drawnNow).toBe((integer % (group.order - 1n)) + 1n);
  });
});

describe('ed25519 points of small or mixed order', () => {
  const group = groupOf('ed25519');
  const torsion = ed25519.Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa');

  it('are refused by every operation that checks', () => {
    const mixed = ed25519.Point.BASE.multiply(5n).add(torsion).toBytes();
    const small = torsion.toBytes();
    const identity = ed25519.Point.ZERO.toBytes();
    for (const point of [mixed, small, identity]) {
      expect(group.isValidPoint(point)).toBe(false);
      expectRefusal('INVALID_POINT', () => group.multiply(point, 8n));
      expectRefusal('INVALID_POINT', () => group.linearCombination(1n, [[1n, point]]));
    }
  });

  it('are refused by every check of received points, also when their parts of small order cancel out in a sum', () => {
    const five = ed25519.Point.BASE.multiply(5n);
    const mixed = five.add(torsion).toBytes();
    const counterpart = ed25519.Point.BASE.multiply(7n).add(torsion.negate()).toBytes();
    const fine = group.baseMultiply(9n);
    for (const pair of [[mixed, counterpart], ...notCanonical.map((one) => [fine, one])]) {
      expectRefusal('INVALID_COMMITMENTS', () => validateCommitments('ed25519', pair, 2));
      expectRefusal('INVALID_COMMITMENTS', () => combineCommitments('ed25519', [[pair[0]!], [pair[1]!]]));
      expect(verifyShare('ed25519', 12n, 1, pair)).toBe(false);
      const commitments = pair.map((hiding, index) => ({ nodeId: index + 1, hiding, binding: fine }));
      const swapped = pair.map((binding, index) => ({ nodeId: index + 1, hiding: fine, binding }));
      for (const pairs of [commitments, swapped]) {
        const suite = 'FROST-ED25519-SHA512-v1';
        const round = { suite, groupPublicKey: fine, message: fine, commitments: pairs } as const;
        expectRefusal('INVALID_POINT', () => frostContext(round));
        expect(pairs.every((one) => isValidFrostCommitment(suite, one))).toBe(false);
      }
    }
  });

  /** The identity, with either sign; y = p and y = p + 1, which stand for 0 and 1; y = p + 3. */
  const notCanonical = [
    `01${'00'.repeat(31)}`,
    `01${'00'.repeat(30)}80`,
    `ed${'ff'.repeat(30)}7f`,
    `ed${'ff'.repeat(30)}ff`,
    `ee${'ff'.repeat(30)}7f`,
    `ee${'ff'.repeat(30)}ff`,
    `f0${'ff'.repeat(30)}7f`,
  ].map(fromHex);

  it('are refused when the encoding is not canonical, or that of the identity', () => {
    for (const bytes of notCanonical) expect(group.isValidPoint(bytes)).toBe(false);
  });
});

describe('a secp256k1 point whose abscissa is not below the order', () => {
  const group = groupOf('secp256k1');
  const point = pointBeyondOrder();

  it('is multiplied, added and combined like any other', () => {
    const theirs = secp256k1.Point.fromBytes(point);
    expect(group.isValidPoint(point)).toBe(true);
    for (const [base, scalar] of [
      [3n, 2n],
      [3n, 1n],
      [0n, 5n],
      [group.order - 1n, group.order - 1n],
    ] as const) {
      const expected = theirs.multiply(scalar).add(secp256k1.Point.BASE.multiplyUnsafe(base));
      expect(toHex(group.linearCombination(base, [[scalar, point]])), `${base}, ${scalar}`).toBe(expected.toHex());
      const two = group.linearCombination(base, [
        [scalar, point],
        [2n, group.generator],
      ]);
      expect(toHex(two)).toBe(expected.add(secp256k1.Point.BASE.double()).toHex());
    }
  });
});

describe('secp256k1 forms of a public key', () => {
  it('match those of @noble/curves', () => {
    const key = groupOf('secp256k1').baseMultiply(77n);
    expect(toHex(uncompress(key))).toBe(secp256k1.Point.BASE.multiply(77n).toHex(false));
    expectRefusal('INVALID_POINT', () => uncompress(new Uint8Array(33)));
  });

  it('come from a backend that names itself', () => {
    expect(['native', 'js']).toContain(cryptoBackend());
  });
});
