import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupOf } from '../../../core/crypto/group.ts';
import { randomPolynomial } from '../../../core/crypto/polynomial.ts';
import {
  combineCommitments,
  commitTo,
  shareFor,
  validateCommitments,
  verificationShares,
  verifyShare,
} from '../../../core/crypto/vss.ts';
import { CURVES, dealAll, expectRefusal, refusalOf, seededRandom } from './support.ts';

describe.each(CURVES)('verifiable secret sharing on %s', (curve) => {
  const group = groupOf(curve);
  const random = seededRandom(`vss ${curve}`);

  it('accepts every share that the dealer computed, and no other', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 7 }),
        fc.integer({ min: 1, max: 100 }),
        fc.bigInt({ min: 1n, max: group.order - 1n }),
        (threshold, recipient, error) => {
          const polynomial = randomPolynomial(curve, threshold, random);
          const commitments = commitTo(curve, polynomial);
          const share = shareFor(curve, polynomial, recipient);
          expect(verifyShare(curve, share, recipient, commitments)).toBe(true);
          expect(verifyShare(curve, (share + error) % group.order, recipient, commitments)).toBe(false);
          expect(verifyShare(curve, share, (recipient % 100) + 1, commitments)).toBe(false);
        },
      ),
      { numRuns: 15 },
    );
  });

  it('answers false, and does not throw, to whatever a dealer may send', () => {
    const polynomial = randomPolynomial(curve, 2, random);
    const commitments = commitTo(curve, polynomial);
    const share = shareFor(curve, polynomial, 1);
    for (const bad of [0n, -share, group.order, share + group.order]) {
      expect(verifyShare(curve, bad, 1, commitments)).toBe(false);
    }
    for (const bad of [[], [commitments[0]!, new Uint8Array(group.pointBytes)], [new Uint8Array(5)]]) {
      expect(verifyShare(curve, share, 1, bad)).toBe(false);
    }
    // A polynomial that is zero at the recipient: the right value is the identity, which no share stands for.
    expect(verifyShare(curve, 1n, 1, [group.baseMultiply(1n), group.baseMultiply(group.order - 1n)])).toBe(false);
    expectRefusal('INVALID_SHARE', () => shareFor(curve, [1n, group.order - 1n], 1));
    expectRefusal('INVALID_NODE_ID', () => verifyShare(curve, share, 0, commitments));
  });

  it('adds the commitments of all dealers up to the group polynomial', () => {
    const { polynomials, commitmentsByDealer } = dealAll(curve, 3, 4, random);
    const combined = combineCommitments(curve, commitmentsByDealer);
    const expected = (nodeId: number) =>
      group.baseMultiply(
        polynomials.reduce((sum, polynomial) => sum + shareFor(curve, polynomial, nodeId), 0n) % group.order,
      );
    for (const nodeIds of [
      [1, 2, 3, 4],
      [2, 4, 5],
      [1, 77],
    ]) {
      expect(verificationShares(curve, combined, nodeIds)).toEqual(nodeIds.map(expected));
    }
    expectRefusal('INVALID_NODE_ID', () => verificationShares(curve, combined, [0, 1]));
    expect(combined[0]).toEqual(group.sum(commitmentsByDealer.map((commitments) => commitments[0]!)));
  });

  it('names the dealer whose commitments are malformed', () => {
    const { commitmentsByDealer } = dealAll(curve, 3, 4, random);
    const short = commitmentsByDealer.map((list, index) => (index === 2 ? list.slice(1) : list));
    const garbled = commitmentsByDealer.map((list, index) =>
      index === 1 ? [list[0]!, new Uint8Array(group.pointBytes), list[2]!] : list,
    );
    expect(refusalOf(() => combineCommitments(curve, short))).toMatchObject({
      code: 'INVALID_COMMITMENTS',
      culprits: [3],
    });
    expect(refusalOf(() => combineCommitments(curve, garbled))).toMatchObject({
      code: 'INVALID_COMMITMENTS',
      culprits: [2],
    });
    expectRefusal('INVALID_COMMITMENTS', () => validateCommitments(curve, short[2]!, 3));
    expectRefusal('INVALID_COMMITMENTS', () => validateCommitments(curve, garbled[1]!, 3));
    validateCommitments(curve, commitmentsByDealer[0]!, 3);
  });

  it('checks commitments in their sums, and names the dealer of an invalid one also beside a sum that cancels out', () => {
    const commitments = commitTo(curve, [5n, 6n]);
    const garbled = [group.negate(commitments[0]!), new Uint8Array(group.pointBytes).fill(0xff)];
    expect(refusalOf(() => combineCommitments(curve, [commitments, garbled]))).toMatchObject({
      code: 'INVALID_COMMITMENTS',
      culprits: [2],
    });
  });

  it('refuses dealers whose commitments cancel each other out', () => {
    const commitments = commitTo(curve, [5n, 6n]);
    expectRefusal('IDENTITY_POINT', () => combineCommitments(curve, [commitments, commitments.map(group.negate)]));
  });
});

it('refuses a commitment of mixed order, though its share would fit up to the torsion', () => {
  const torsion = ed25519.Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa');
  const mixed = ed25519.Point.BASE.multiply(5n).add(torsion).toBytes();
  const honest = groupOf('ed25519').baseMultiply(6n);
  expectRefusal('INVALID_COMMITMENTS', () => validateCommitments('ed25519', [mixed, honest], 2));
  expect(verifyShare('ed25519', 5n + 8n * 6n, 8, [mixed, honest])).toBe(false);
});
