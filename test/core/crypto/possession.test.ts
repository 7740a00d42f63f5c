import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../../core/crypto/bytes.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { provePossession, verifyPossession } from '../../../core/crypto/possession.ts';
import { CURVES, flipBit, seededRandom } from './support.ts';

describe.each(CURVES)('proofs of possession on %s', (curve) => {
  const group = groupOf(curve);
  const random = seededRandom(`possession ${curve}`);
  const secret = group.randomScalar(random);
  const publicKey = group.baseMultiply(secret);
  const statement = { curve, context: utf8('tenant, session, attempt 1'), dealerId: 3 };
  const proof = provePossession({ ...statement, secret, publicKey, random });

  it('convince for the statement they were made for', () => {
    expect(proof).toHaveLength(group.pointBytes + 32);
    expect(verifyPossession({ ...statement, proof, publicKey })).toBe(true);
  });

  it('do not carry over to another dealer, context or key', () => {
    const other = group.baseMultiply(group.randomScalar(random));
    expect(verifyPossession({ ...statement, proof, publicKey, dealerId: 4 })).toBe(false);
    expect(verifyPossession({ ...statement, proof, publicKey, context: utf8('attempt 2') })).toBe(false);
    expect(verifyPossession({ ...statement, proof, publicKey: other })).toBe(false);
  });

  it('do not survive a flipped bit, nor random bytes', () => {
    fc.assert(
      fc.property(fc.nat(), (bit) => {
        expect(verifyPossession({ ...statement, proof: flipBit(proof, bit), publicKey })).toBe(false);
        expect(verifyPossession({ ...statement, proof, publicKey: flipBit(publicKey, bit) })).toBe(false);
      }),
      { numRuns: 25 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        expect(verifyPossession({ ...statement, proof: bytes, publicKey })).toBe(false);
        expect(verifyPossession({ ...statement, proof, publicKey: bytes })).toBe(false);
      }),
      { numRuns: 40 },
    );
  });

  it('stop a dealer that copies the negated sum of the others as its own commitment', () => {
    const rogue = group.negate(publicKey);
    const forged = provePossession({ ...statement, secret: 1n, publicKey: group.generator, random });
    expect(verifyPossession({ ...statement, proof: forged, publicKey: rogue })).toBe(false);
  });

  it('never use one nonce for two statements, even when the random source repeats itself', () => {
    const stuck = () => new Uint8Array(32);
    const nonceOf = (context: string) =>
      provePossession({ ...statement, context: utf8(context), secret, publicKey, random: stuck }).slice(
        0,
        group.pointBytes,
      );
    expect(nonceOf('a')).not.toEqual(nonceOf('b'));
  });
});
