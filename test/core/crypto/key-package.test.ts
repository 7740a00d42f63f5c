import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupOf } from '../../../core/crypto/group.ts';
import { finishDkg, publicKeyPackage } from '../../../core/crypto/key-package.ts';
import {
  interpolateAt,
  lagrangeCoefficients,
  polynomialFromSeed,
  randomPolynomial,
} from '../../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../../core/crypto/vss.ts';
import { CURVES, chooseNodes, dealAll, expectRefusal, generateKey, refusalOf, seededRandom } from './support.ts';

describe.each(CURVES)('a finished key generation on %s', (curve) => {
  const group = groupOf(curve);

  it('gives every node the same public package, and shares of one secret', () => {
    const random = seededRandom(`dkg ${curve}`);
    const sizes = fc.integer({ min: 2, max: 7 }).chain((n) => fc.tuple(fc.integer({ min: 2, max: n }), fc.constant(n)));
    fc.assert(
      fc.property(sizes, ([t, n]) => {
        const keys = generateKey(curve, t, n, random);
        for (const key of keys) {
          expect({ ...keys[0]!, nodeId: key.nodeId, signingShare: key.signingShare }).toEqual(key);
          expect(group.baseMultiply(key.signingShare)).toEqual(key.verificationShares[key.nodeId - 1]);
        }
        const signers = chooseNodes(n, t, random);
        const lambdas = lagrangeCoefficients(curve, signers);
        const secret =
          signers.reduce((sum, id) => sum + lambdas.get(id)! * keys[id - 1]!.signingShare, 0n) % group.order;
        expect(group.baseMultiply(secret)).toEqual(keys[0]!.publicKey);
      }),
      { numRuns: 8 },
    );
  });

  it('works for 2 of 100 nodes', () => {
    const [first, last] = generateKey(curve, 2, 100, seededRandom('large'), [1, 100]);
    const lambdas = lagrangeCoefficients(curve, [1, 100]);
    const secret = (lambdas.get(1)! * first!.signingShare + lambdas.get(100)! * last!.signingShare) % group.order;
    expect(group.baseMultiply(secret)).toEqual(last!.publicKey);
    expect(first!.verificationShares).toHaveLength(100);
  });

  it('works for any different nodes, whose ids are the x-coordinates', () => {
    const participants = [2, 5, 9];
    const random = seededRandom('participants');
    const polynomials = participants.map(() => randomPolynomial(curve, 2, random));
    const commitmentsByDealer = polynomials.map((polynomial) => commitTo(curve, polynomial));
    const terms = { curve, threshold: 2, totalNodes: 3, participants, commitmentsByDealer };
    const keys = participants.map((nodeId) =>
      finishDkg({ ...terms, nodeId, sharesByDealer: polynomials.map((one) => shareFor(curve, one, nodeId)) }),
    );
    for (const [place, key] of keys.entries()) {
      expect(key.participants).toEqual(participants);
      expect(group.baseMultiply(key.signingShare)).toEqual(key.verificationShares[place]);
    }
    const lambdas = lagrangeCoefficients(curve, [9, 2]);
    const secret = (lambdas.get(2)! * keys[0]!.signingShare + lambdas.get(9)! * keys[2]!.signingShare) % group.order;
    expect(group.baseMultiply(secret)).toEqual(keys[1]!.publicKey);
    expectRefusal('INVALID_NODE_ID', () => finishDkg({ ...terms, nodeId: 3, sharesByDealer: [1n, 1n, 1n] }));
    for (const wrong of [
      [2, 2, 9],
      [9, 5, 2],
      [0, 5, 9],
      [2, 5, 101],
      [2, 5],
    ]) {
      expectRefusal('INVALID_NODE_ID', () => publicKeyPackage({ ...terms, participants: wrong }));
    }
  });

  it('interpolates any share of a polynomial from as many others as it has coefficients', () => {
    const polynomial = randomPolynomial(curve, 3, seededRandom('interpolate'));
    const points = [2, 4, 5].map((x) => ({ x, value: shareFor(curve, polynomial, x) }));
    for (const at of [1, 2, 3, 100]) expect(interpolateAt(curve, points, at)).toBe(shareFor(curve, polynomial, at));
    expectRefusal('INVALID_NODE_ID', () => interpolateAt(curve, [points[0]!, points[0]!], 1));
  });

  it('refuses shares that do not fit the commitments', () => {
    const { polynomials, commitmentsByDealer } = dealAll(curve, 3, 5, seededRandom('misfit'));
    const sharesByDealer = polynomials.map((polynomial) => shareFor(curve, polynomial, 2));
    const input = { curve, threshold: 3, totalNodes: 5, nodeId: 2, commitmentsByDealer, sharesByDealer };
    expect(finishDkg(input).nodeId).toBe(2);
    expectRefusal('INVALID_SHARE', () => finishDkg({ ...input, nodeId: 3 }));
    expectRefusal('INVALID_SHARE', () => finishDkg({ ...input, sharesByDealer: sharesByDealer.slice(1) }));
    expectRefusal('INVALID_SHARE', () => finishDkg({ ...input, sharesByDealer: [1n, ...sharesByDealer.slice(1)] }));
    expectRefusal('INVALID_NODE_ID', () => finishDkg({ ...input, nodeId: 6 }));
    expectRefusal('INVALID_THRESHOLD', () => finishDkg({ ...input, threshold: 6 }));
    expectRefusal('INVALID_COMMITMENTS', () => finishDkg({ ...input, totalNodes: 4 }));
    const wrongCount = commitmentsByDealer.map((list, index) => (index === 3 ? list.slice(0, 2) : list));
    expect(refusalOf(() => finishDkg({ ...input, commitmentsByDealer: wrongCount })).culprits).toEqual([4]);
  });

  it('fixes key and chain code by the polynomials alone', () => {
    const seed = new Uint8Array(32).fill(1);
    const make = (name: string) =>
      publicKeyPackage({
        curve,
        threshold: 3,
        totalNodes: 5,
        commitmentsByDealer: [1, 2, 3, 4, 5].map((id) => commitTo(curve, polynomialFromSeed(curve, 3, seed, id, name))),
      });
    expect(make('demo')).toEqual(make('demo'));
    expect(make('demo').chainCode).toHaveLength(32);
    expect(make('demo').chainCode).not.toEqual(make('other').chainCode);
  });
});
