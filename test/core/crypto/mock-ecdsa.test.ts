import { secp256k1 } from '@noble/curves/secp256k1.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, fromHex, toHex } from '../../../core/crypto/bytes.ts';
import { deriveTweak, tweakPoint, tweakShare } from '../../../core/crypto/derivation.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import type { KeyPackage } from '../../../core/crypto/key-package.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  dealMockNonce,
  type MockNonce,
  mockEcdsaPartial,
  recoverEcdsa,
  verifyEcdsa,
  verifyMockEcdsaPartial,
} from '../../../core/crypto/mock-ecdsa.ts';
import { integerAt, invert } from '../../../core/crypto/scalar.ts';
import {
  chooseNodes,
  expectRefusal,
  flipBit,
  generateKey,
  pointBeyondOrder,
  refusalOf,
  seededRandom,
} from './support.ts';

const random = seededRandom('mock ecdsa');
const { order } = groupOf('secp256k1');
const keys = generateKey('secp256k1', 3, 5, random);
const { publicKey, verificationShares } = keys[0]!;
const freshNonce = () => combineMockNonces([1, 2, 3].map(() => dealMockNonce(random)));

function partialsOf(signers: readonly number[], nonce: MockNonce, digest: Uint8Array, from: KeyPackage[] = keys) {
  return signers.map((nodeId) => ({
    nodeId,
    partial: mockEcdsaPartial({ ...nonce, digest, signingShare: from[nodeId - 1]!.signingShare }),
  }));
}

describe('mock threshold ECDSA', () => {
  it('signs with any t of n nodes; @noble/curves verifies and recovers the key', () => {
    const digests = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.constantFrom(new Uint8Array(32), new Uint8Array(32).fill(0xff)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 5 }), digests, (count, digest) => {
        const nonce = freshNonce();
        const partials = partialsOf(chooseNodes(5, count, random), nonce, digest);
        const { signature, recoveryId } = aggregateMockEcdsa({ ...nonce, partials });
        expect(verifyEcdsa({ signature, digest, publicKey })).toBe(true);
        expect(secp256k1.verify(signature, digest, publicKey, { prehash: false, lowS: true })).toBe(true);
        expect(recoverEcdsa({ signature, recoveryId, digest })).toEqual(publicKey);
        const recovered = secp256k1.Signature.fromBytes(signature).addRecoveryBit(recoveryId).recoverPublicKey(digest);
        expect(recovered.toBytes()).toEqual(publicKey);
      }),
      { numRuns: 12 },
    );
  });

  it.each([
    ['half of the order, rounded down, is low', order / 2n, order / 2n],
    ['one more is high', order / 2n + 1n, order / 2n],
    ['the order less one is high', order - 1n, 1n],
  ])('an s of %s', (_what, s, low) => {
    const nonce = combineMockNonces([9n]);
    // The values at 1 and 2 of a line that is s at 0.
    const partials = [1n, 2n].map((x) => ({ nodeId: Number(x), partial: (s + 5n * x) % order }));
    const { signature, recoveryId } = aggregateMockEcdsa({ ...nonce, partials });
    expect(integerAt(signature, 32)).toBe(low);
    const odd = nonce.R[0]! & 1;
    expect(recoveryId).toBe(s === low ? odd : 1 - odd);
  });

  it('with a nonce point whose abscissa is not below the order has the recovery ids 2 and 3', () => {
    const R = pointBeyondOrder();
    const r = integerAt(R, 1) % order;
    const digest = random(32);
    // The key for which s signs under this R, whose logarithm is unknown: X = r⁻¹(s·R − m·G).
    const keyOf = (s: bigint) => {
      const m = integerAt(digest, 0) % order;
      const sum = secp256k1.Point.fromBytes(R).multiply(s).subtract(secp256k1.Point.BASE.multiply(m));
      return sum.multiply(invert(r, order)).toBytes();
    };
    const partials = [1n, 2n].map((x) => ({ nodeId: Number(x), partial: 1234n + 5n * x }));
    for (const { partial } of partials) {
      expect(verifyMockEcdsaPartial({ R, r, digest, partial, verificationShare: keyOf(partial) })).toBe(true);
      expect(verifyMockEcdsaPartial({ R, r, digest, partial, verificationShare: keyOf(partial + 1n) })).toBe(false);
    }
    const { signature, recoveryId } = aggregateMockEcdsa({ R, r, partials });
    expect(recoveryId).toBe(2);
    expect(recoverEcdsa({ signature, recoveryId, digest })).toEqual(keyOf(1234n));
    const flipped = partials.map(({ nodeId, partial }) => ({ nodeId, partial: order - partial }));
    expect(aggregateMockEcdsa({ R, r, partials: flipped })).toEqual({ signature, recoveryId: 3 });
  });

  it('needs t nodes: fewer give no valid signature', () => {
    const nonce = freshNonce();
    const digest = random(32);
    const { signature } = aggregateMockEcdsa({ ...nonce, partials: partialsOf([1, 4], nonce, digest) });
    expect(verifyEcdsa({ signature, digest, publicKey })).toBe(false);
  });

  it('blames exactly the node whose partial is wrong', () => {
    const errors = fc.oneof(fc.bigInt({ min: 1n, max: order - 1n }), fc.constant('negated' as const));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 }), errors, (cheater, error) => {
        const nonce = freshNonce();
        const digest = random(32);
        const partials = partialsOf(chooseNodes(5, 3, random), nonce, digest).map((entry, index) => {
          if (index !== cheater) return entry;
          return { ...entry, partial: error === 'negated' ? order - entry.partial : (entry.partial + error) % order };
        });
        const { signature } = aggregateMockEcdsa({ ...nonce, partials });
        expect(verifyEcdsa({ signature, digest, publicKey })).toBe(false);
        const blamed = partials.filter(
          ({ nodeId, partial }) =>
            !verifyMockEcdsaPartial({ ...nonce, digest, partial, verificationShare: verificationShares[nodeId - 1]! }),
        );
        expect(blamed.map(({ nodeId }) => nodeId)).toEqual([partials[cheater]!.nodeId]);
      }),
      { numRuns: 20 },
    );
  });

  it('checks a partial against s_i·R = m·G + r·X_i computed by @noble/curves', () => {
    const nonce = freshNonce();
    const digest = new Uint8Array(32).fill(0xfe);
    const { partial } = partialsOf([2], nonce, digest)[0]!;
    const left = secp256k1.Point.fromBytes(nonce.R).multiply(partial);
    const m = BigInt(`0x${toHex(digest)}`) % order;
    const right = secp256k1.Point.BASE.multiply(m).add(
      secp256k1.Point.fromBytes(verificationShares[1]!).multiply(nonce.r),
    );
    expect(left.equals(right)).toBe(true);
  });

  it('signs for a derived key with tweaked shares', () => {
    const child = deriveTweak({ ...keys[0]!, path: [0, 7] });
    const tweaked = keys.map((key) => ({
      ...key,
      signingShare: tweakShare('secp256k1', key.signingShare, child.tweak),
    }));
    const nonce = freshNonce();
    const digest = random(32);
    const partials = partialsOf([5, 2, 3], nonce, digest, tweaked);
    for (const { nodeId, partial } of partials) {
      const verificationShare = tweakPoint('secp256k1', verificationShares[nodeId - 1]!, child.tweak);
      expect(verifyMockEcdsaPartial({ ...nonce, digest, partial, verificationShare })).toBe(true);
    }
    const { signature } = aggregateMockEcdsa({ ...nonce, partials });
    expect(verifyEcdsa({ signature, digest, publicKey: child.publicKey })).toBe(true);
    expect(verifyEcdsa({ signature, digest, publicKey })).toBe(false);
  });

  it('discloses the group key to anyone who knows the nonce, as the docs warn', () => {
    const contributions = [1, 2, 3].map(() => dealMockNonce(random));
    const k = contributions.reduce((sum, contribution) => (sum + contribution) % order);
    const nonce = combineMockNonces(contributions);
    const digest = random(32);
    const { signature } = aggregateMockEcdsa({ ...nonce, partials: partialsOf([1, 2, 3], nonce, digest) });
    const s = BigInt(`0x${toHex(signature.slice(32))}`);
    const m = BigInt(`0x${toHex(digest)}`);
    const inverse = secp256k1.Point.Fn.inv(nonce.r);
    const candidates = [s, order - s].map((signed) => ((((signed * k - m) * inverse) % order) + order) % order);
    expect(candidates.map((secret) => toHex(groupOf('secp256k1').baseMultiply(secret)))).toContain(toHex(publicKey));
  });

  it('refuses nonces and partials that are out of range, duplicates and wrong digests', () => {
    const nonce = freshNonce();
    const digest = random(32);
    for (const bad of [[], [0n], [order], [5n, order - 5n], [-1n]]) {
      expectRefusal('INVALID_NONCE', () => combineMockNonces(bad));
    }
    expectRefusal('INVALID_MESSAGE', () => mockEcdsaPartial({ ...nonce, digest: digest.slice(1), signingShare: 1n }));
    const partials = partialsOf([1, 2, 3], nonce, digest);
    expectRefusal('INVALID_NODE_ID', () => aggregateMockEcdsa({ ...nonce, partials: [...partials, partials[0]!] }));
    const outOfRange = [partials[0]!, { nodeId: 2, partial: order }];
    expect(refusalOf(() => aggregateMockEcdsa({ ...nonce, partials: outOfRange }))).toMatchObject({
      code: 'INVALID_PARTIAL',
      culprits: [2],
    });
    // λ_1 = 2 and λ_2 = −1 over the set {1, 2}.
    const cancelling = [
      { nodeId: 1, partial: 4n },
      { nodeId: 2, partial: 8n },
    ];
    expectRefusal('AGGREGATE_INVALID', () => aggregateMockEcdsa({ ...nonce, partials: cancelling }));
    for (const partial of [0n, order, -1n, partials[0]!.partial + order]) {
      const verificationShare = verificationShares[0]!;
      expect(verifyMockEcdsaPartial({ ...nonce, digest, partial, verificationShare })).toBe(false);
    }
  });

  it('answers false to malformed rounds, keys and signatures', () => {
    const nonce = freshNonce();
    const digest = random(32);
    const partials = partialsOf([1, 2, 3], nonce, digest);
    const good = { ...nonce, digest, partial: partials[0]!.partial, verificationShare: verificationShares[0]! };
    expect(verifyMockEcdsaPartial(good)).toBe(true);
    const { signature } = aggregateMockEcdsa({ ...nonce, partials });
    const high = concatBytes(
      signature.slice(0, 32),
      groupOf('secp256k1').encodeScalar(order - BigInt(`0x${toHex(signature.slice(32))}`)),
    );
    expect(verifyEcdsa({ signature: high, digest, publicKey })).toBe(false);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(), (bytes, bit) => {
        for (const changed of [
          { R: bytes },
          { R: flipBit(nonce.R, bit) },
          { digest: bytes },
          { verificationShare: bytes },
          { r: nonce.r + 1n },
        ]) {
          expect(verifyMockEcdsaPartial({ ...good, ...changed })).toBe(false);
        }
        for (const changed of [
          { signature: bytes },
          { signature: flipBit(signature, bit) },
          { digest: bytes },
          { publicKey: bytes },
        ]) {
          expect(verifyEcdsa({ signature, digest, publicKey, ...changed })).toBe(false);
        }
        recoverEcdsa({ signature: bytes, recoveryId: bit, digest });
      }),
      { numRuns: 30 },
    );
  });
});

describe('ECDSA verification', () => {
  it('accepts deterministic signatures (RFC 6979) that @noble/curves makes', () => {
    const secretKey = fromHex('c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721');
    const digest = random(32);
    const signature = secp256k1.sign(digest, secretKey, { prehash: false });
    expect(verifyEcdsa({ signature, digest, publicKey: secp256k1.getPublicKey(secretKey) })).toBe(true);
    expect(verifyEcdsa({ signature, digest: flipBit(digest, 3), publicKey: secp256k1.getPublicKey(secretKey) })).toBe(
      false,
    );
  });
});
