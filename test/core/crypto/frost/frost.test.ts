import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr } from '@noble/curves/secp256k1.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveTweak, tweakPoint, tweakShare } from '../../../../core/crypto/derivation.ts';
import { ciphersuite, type FrostSuite } from '../../../../core/crypto/frost/ciphersuite.ts';
import { frostContext, isValidFrostCommitment } from '../../../../core/crypto/frost/context.ts';
import {
  dealFrostNonce,
  frostAggregate,
  frostAggregateAt,
  frostPartial,
  frostPartialWithPoint,
  verifyFrostPartial,
  verifySchnorr,
} from '../../../../core/crypto/frost/frost.ts';
import type { KeyPackage } from '../../../../core/crypto/key-package.ts';
import { runs } from '../../../support/thorough.ts';
import {
  CURVES,
  chooseNodes,
  expectRefusal,
  flipBit,
  frostSuites,
  generateKey,
  refusalOf,
  seededRandom,
} from '../support.ts';

const random = seededRandom('frost');

/** One round of the given signers under the key, or under a child of it. */
function startRound(suite: FrostSuite, keys: readonly KeyPackage[], signers: readonly number[], tweak = 0n) {
  const { curve } = ciphersuite(suite);
  const dealt = signers.map((nodeId) => ({
    nodeId,
    ...dealFrostNonce({ suite, random, hedges: { hiding: random(32), binding: random(32) } }),
  }));
  const round = {
    suite,
    groupPublicKey: tweakPoint(curve, keys[0]!.publicKey, tweak),
    message: random(32),
    commitments: dealt.map(({ nodeId, commitments }) => ({ nodeId, ...commitments })),
  };
  const share = (nodeId: number) => tweakShare(curve, keys[nodeId - 1]!.signingShare, tweak);
  const verificationShare = (nodeId: number) => tweakPoint(curve, keys[0]!.verificationShares[nodeId - 1]!, tweak);
  const partials = dealt.map(({ nodeId, nonces }) => ({
    nodeId,
    partial: frostPartial({ ...round, nodeId, signingShare: share(nodeId), nonces }),
  }));
  return { round, dealt, partials, share, verificationShare };
}

describe.each(CURVES)('FROST on %s', (curve) => {
  const suite = frostSuites[curve];
  const { group } = ciphersuite(suite);
  const keys = generateKey(curve, 3, 5, random);
  const standardVerify = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) =>
    curve === 'ed25519'
      ? ed25519.verify(signature, message, publicKey)
      : schnorr.verify(signature, message, publicKey.subarray(1));

  it('signs with any t or more of n nodes, for keys and nonces of either parity; @noble/curves verifies', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 5 }), (count) => {
        const fresh = generateKey(curve, 3, 5, random);
        const { round, partials, verificationShare } = startRound(suite, fresh, chooseNodes(5, count, random));
        const context = frostContext(round);
        for (const { nodeId, partial } of partials) {
          const claim = { ...round, nodeId, partial, verificationShare: verificationShare(nodeId) };
          expect(verifyFrostPartial({ ...claim, context })).toBe(true);
        }
        const signature = frostAggregate({ ...round, context, partials });
        expect(signature).toHaveLength(64);
        expect(signature).toEqual(frostAggregate({ ...round, partials: partials.toReversed() }));
        expect(verifySchnorr(suite, signature, round.message, round.groupPublicKey)).toBe(true);
        expect(standardVerify(signature, round.message, round.groupPublicKey)).toBe(true);
      }),
      { numRuns: runs(6, 12) },
    );
  });

  it('gives no valid signature with t - 1 nodes', () => {
    const { round, partials } = startRound(suite, keys, [2, 5]);
    const signature = frostAggregate({ ...round, partials });
    expect(verifySchnorr(suite, signature, round.message, round.groupPublicKey)).toBe(false);
  });

  it('blames exactly the node whose partial is wrong', () => {
    const errors = fc.oneof(fc.bigInt({ min: 1n, max: group.order - 1n }), fc.constant('negated' as const));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 }), errors, (cheater, error) => {
        const { round, partials, verificationShare } = startRound(suite, keys, chooseNodes(5, 3, random));
        const sent = partials.map((entry, index) => {
          if (index !== cheater) return entry;
          const wrong = error === 'negated' ? group.order - entry.partial : (entry.partial + error) % group.order;
          return { ...entry, partial: wrong };
        });
        const context = frostContext(round);
        const signature = frostAggregate({ ...round, context, partials: sent });
        expect(verifySchnorr(suite, signature, round.message, round.groupPublicKey)).toBe(false);
        const blamed = sent.filter(
          ({ nodeId, partial }) =>
            !verifyFrostPartial({ ...round, context, nodeId, partial, verificationShare: verificationShare(nodeId) }),
        );
        expect(blamed.map(({ nodeId }) => nodeId)).toEqual([sent[cheater]!.nodeId]);
      }),
      { numRuns: runs(6, 12) },
    );
  });

  it('signs under derived keys', () => {
    for (const path of [[0], [1, 2], [3], [4]]) {
      const { tweak, publicKey } = deriveTweak({ ...keys[0]!, path });
      const { round, partials, verificationShare } = startRound(suite, keys, [4, 1, 2], tweak);
      expect(round.groupPublicKey).toEqual(publicKey);
      const signature = frostAggregate({ ...round, partials });
      expect(standardVerify(signature, round.message, publicKey)).toBe(true);
      for (const { nodeId, partial } of partials) {
        const claim = { ...round, nodeId, partial, verificationShare: verificationShare(nodeId) };
        expect(verifyFrostPartial(claim)).toBe(true);
      }
    }
  });

  it('signs with 2 of 100 nodes, and with 40 signers', () => {
    const [first, last] = generateKey(curve, 2, 100, random, [1, 100]);
    const sparse = Array.from({ length: 100 }, (_, index) => (index === 0 ? first! : last!));
    const far = startRound(suite, sparse, [100, 1]);
    expect(
      verifySchnorr(
        suite,
        frostAggregate({ ...far.round, partials: far.partials }),
        far.round.message,
        first!.publicKey,
      ),
    ).toBe(true);
    const many = generateKey(curve, 2, 40, random);
    const all = startRound(
      suite,
      many,
      many.map(({ nodeId }) => nodeId),
    );
    expect(
      verifySchnorr(
        suite,
        frostAggregate({ ...all.round, partials: all.partials }),
        all.round.message,
        many[0]!.publicKey,
      ),
    ).toBe(true);
  });

  it('refuses to sign a round that does not hold the own commitments', () => {
    const { round, dealt, share } = startRound(suite, keys, [1, 2, 3]);
    const other = dealFrostNonce({ suite, random, hedges: { hiding: random(32), binding: random(32) } });
    const signer = { nodeId: 1, signingShare: share(1) };
    expectRefusal('INVALID_NONCE', () => frostPartial({ ...round, ...signer, nonces: other.nonces }));
    for (const half of ['hiding', 'binding'] as const) {
      const commitments = round.commitments.map((each) =>
        each.nodeId === 1 ? { ...each, [half]: other.commitments[half] } : each,
      );
      const changed = { ...round, ...signer, commitments, nonces: dealt[0]!.nonces };
      expectRefusal('INVALID_NONCE', () => frostPartial(changed));
    }
    for (const signingShare of [0n, -1n, group.order]) {
      const changed = { ...round, nodeId: 1, signingShare, nonces: dealt[0]!.nonces };
      expectRefusal('INVALID_SCALAR', () => frostPartial(changed));
    }
    expectRefusal('INVALID_NODE_ID', () => frostPartial({ ...round, ...signer, nodeId: 4, nonces: dealt[0]!.nonces }));
    expectRefusal('INVALID_NONCE', () => frostPartial({ ...round, ...signer, nodeId: 2, nonces: dealt[0]!.nonces }));
    for (const signingShare of [0n, group.order]) {
      expectRefusal('INVALID_SCALAR', () =>
        frostPartial({ ...round, nodeId: 1, signingShare, nonces: dealt[0]!.nonces }),
      );
    }
  });

  it('aggregates with R as a signer says it: the same signature if it is right, none if it is not', () => {
    const { round, dealt, partials, share } = startRound(suite, keys, [5, 1, 3]);
    const said = frostPartialWithPoint({ ...round, nodeId: 5, nonces: dealt[0]!.nonces, signingShare: share(5) });
    expect(said.partial).toBe(partials[0]!.partial);
    const nodeIds = [5, 1, 3];
    const at = (noncePoint: Uint8Array) => frostAggregateAt({ suite, nodeIds, noncePoint, partials });
    expect(at(said.noncePoint)).toEqual(frostAggregate({ ...round, partials }));
    for (const wrong of [group.generator, flipBit(said.noncePoint, 9), new Uint8Array(group.pointBytes)]) {
      expect(verifySchnorr(suite, at(wrong), round.message, round.groupPublicKey)).toBe(false);
    }
    expectRefusal('INVALID_POINT', () => at(said.noncePoint.subarray(1)));
  });

  it('refuses rounds with duplicates, strangers, no signers, or commitments that are no points, naming the node', () => {
    const { round } = startRound(suite, keys, [1, 2, 3]);
    const [a, b, c] = round.commitments as [
      (typeof round.commitments)[0],
      (typeof round.commitments)[0],
      (typeof round.commitments)[0],
    ];
    expectRefusal('INVALID_NODE_ID', () => frostContext({ ...round, commitments: [a, b, { ...c, nodeId: 1 }] }));
    expectRefusal('INVALID_NODE_ID', () => frostContext({ ...round, commitments: [a, b, { ...c, nodeId: 0 }] }));
    expectRefusal('INVALID_NODE_ID', () => frostContext({ ...round, commitments: [a, b, { ...c, nodeId: 101 }] }));
    expectRefusal('INVALID_COMMITMENTS', () => frostContext({ ...round, commitments: [] }));
    expectRefusal('INVALID_POINT', () => frostContext({ ...round, groupPublicKey: new Uint8Array(33) }));
    const identity = new Uint8Array(group.pointBytes);
    if (curve === 'ed25519') identity[0] = 1;
    for (const bad of [identity, new Uint8Array(3), new Uint8Array(group.pointBytes).fill(0xff)]) {
      for (const half of ['hiding', 'binding'] as const) {
        const commitment = { ...b, [half]: bad };
        const refusal = refusalOf(() => frostContext({ ...round, commitments: [a, commitment, c] }));
        expect(refusal).toMatchObject({ code: 'INVALID_POINT', culprits: [2] });
        expect(isValidFrostCommitment(suite, commitment)).toBe(false);
      }
    }
    expect(isValidFrostCommitment(suite, a)).toBe(true);
  });

  it('refuses to aggregate with missing, surplus or impossible partials', () => {
    const { round, partials } = startRound(suite, keys, [1, 2, 3]);
    const [p, q, r] = partials as [(typeof partials)[0], (typeof partials)[0], (typeof partials)[0]];
    const culpritsOf = (sent: typeof partials) => {
      const refusal = refusalOf(() => frostAggregate({ ...round, partials: sent }));
      expect(refusal.code).toBe('INVALID_PARTIAL');
      return refusal.culprits;
    };
    expect(culpritsOf([p, q])).toEqual([]);
    expect(culpritsOf([p, q, r, r])).toEqual([3]);
    expect(culpritsOf([p, q, { nodeId: 4, partial: 1n }])).toEqual([4]);
    expect(culpritsOf([p, { ...q, partial: group.order }, r])).toEqual([2]);
    for (const partial of [group.order, -1n, p.partial + group.order]) {
      const claim = { ...round, nodeId: 1, partial, verificationShare: keys[0]!.verificationShares[0]! };
      expect(verifyFrostPartial(claim)).toBe(false);
    }
    const claim = { ...round, nodeId: 1, partial: p.partial, verificationShare: new Uint8Array(group.pointBytes) };
    expect(verifyFrostPartial(claim)).toBe(false);
  });

  it('rejects changed signatures, messages and keys, and random bytes', () => {
    const { round, partials } = startRound(suite, keys, [1, 2, 3]);
    const signature = frostAggregate({ ...round, partials });
    const { message, groupPublicKey } = round;
    fc.assert(
      fc.property(fc.nat(), fc.uint8Array({ maxLength: 70 }), (bit, bytes) => {
        expect(verifySchnorr(suite, flipBit(signature, bit), message, groupPublicKey)).toBe(false);
        expect(verifySchnorr(suite, signature, flipBit(message, bit), groupPublicKey)).toBe(false);
        expect(verifySchnorr(suite, bytes, message, groupPublicKey)).toBe(false);
        expect(verifySchnorr(suite, signature, message, bytes)).toBe(false);
      }),
      { numRuns: runs(10, 25) },
    );
  });

  it('deals different nonces even from a random source that repeats itself, when the hedge differs', () => {
    const stuck = (length: number) => new Uint8Array(length);
    const one = dealFrostNonce({
      suite,
      random: stuck,
      hedges: { hiding: new Uint8Array(32).fill(1), binding: new Uint8Array(32).fill(1) },
    });
    const two = dealFrostNonce({
      suite,
      random: stuck,
      hedges: { hiding: new Uint8Array(32).fill(2), binding: new Uint8Array(32).fill(2) },
    });
    expect(one.nonces.hiding).not.toBe(two.nonces.hiding);
    for (const [hiding, binding] of [
      [31, 32],
      [32, 31],
      [33, 32],
    ] as const) {
      const hedges = { hiding: new Uint8Array(hiding), binding: new Uint8Array(binding) };
      expectRefusal('INVALID_BYTES', () => dealFrostNonce({ suite, random, hedges }));
    }
    expect(one.nonces.hiding).toBe(one.nonces.binding);
    const halves = { hiding: new Uint8Array(32).fill(1), binding: new Uint8Array(32).fill(2) };
    const { nonces } = dealFrostNonce({ suite, random: stuck, hedges: halves });
    expect(nonces).toEqual({ hiding: one.nonces.hiding, binding: two.nonces.binding });
  });
});

it('verifies a BIP-340 signature under the x-only key as well, and under no point with another prefix', () => {
  const suite = 'FROST-secp256k1-SHA256-TR-v1';
  const { round, partials } = startRound(suite, generateKey('secp256k1', 2, 3, random), [1, 3]);
  const signature = frostAggregate({ ...round, partials });
  const xOnly = round.groupPublicKey.subarray(1);
  expect(verifySchnorr(suite, signature, round.message, xOnly)).toBe(true);
  const isValidUnder = (prefix: number) =>
    verifySchnorr(suite, signature, round.message, Uint8Array.of(prefix, ...xOnly));
  expect([0, 1, 2, 3, 4, 5, 255].filter(isValidUnder)).toEqual([2, 3]);
});
