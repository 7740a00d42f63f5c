import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupOf } from '../../crypto/group.ts';
import { finishDkg, publicKeyPackage, publicPartOf } from '../../crypto/key-package.ts';
import { lagrangeCoefficients, polynomialFromSeed } from '../../crypto/polynomial.ts';
import { commitTo, shareFor } from '../../crypto/vss.ts';
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
          expect(publicPartOf(key)).toEqual(publicPartOf(keys[0]!));
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
