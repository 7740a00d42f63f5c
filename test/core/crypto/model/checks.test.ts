/** With the model, everything that is wrong fails the same check as with the real cryptography, and blame is right. */
import { afterEach, describe, expect, test } from 'vitest';
import { cryptography } from '../../../../core/crypto/backend.ts';
import { concatBytes } from '../../../../core/crypto/bytes.ts';
import { deriveTweak, tweakShare } from '../../../../core/crypto/derivation.ts';
import {
  type DealerOpening,
  type DkgTerms,
  evaluateComplaint,
  isSignedOpening,
  openingTranscript,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
  verifyOpening,
} from '../../../../core/crypto/dkg-transcripts.ts';
import type { FrostSuite } from '../../../../core/crypto/frost/ciphersuite.ts';
import {
  dealFrostNonce,
  frostAggregate,
  frostPartial,
  verifyFrostPartial,
  verifySchnorr,
} from '../../../../core/crypto/frost/frost.ts';
import { type ReleasedKind, verifyReleased } from '../../../../core/crypto/frost/released.ts';
import { type Curve, cryptoBackend, groupOf } from '../../../../core/crypto/group.ts';
import { identityFromSeed, sign, verify } from '../../../../core/crypto/identity.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  dealMockNonce,
  mockEcdsaPartial,
  recoverEcdsa,
  verifyEcdsa,
  verifyMockEcdsaPartial,
} from '../../../../core/crypto/mock-ecdsa.ts';
import { withCryptography } from '../../../../core/crypto/model/switch.ts';
import { randomPolynomial } from '../../../../core/crypto/polynomial.ts';
import { provePossession, verifyPossession } from '../../../../core/crypto/possession.ts';
import { open, seal, sealingKeyMatches, sealingKeyPair } from '../../../../core/crypto/sealing.ts';
import { commitTo, shareFor, verifyShare } from '../../../../core/crypto/vss.ts';
import { CURVES, expectRefusal, flipBit, frostSuites, generateKey, seededRandom } from '../support.ts';
import { useModelCryptography, useRealCryptography, withTheModel } from './support.ts';

withTheModel();

const digest = Uint8Array.from({ length: 32 }, (_, index) => index * 5 + 1);

describe.each(CURVES)('sharing on the model of %s', (curve) => {
  test('a share fits its commitments, and no other recipient, share or commitment does', () => {
    const random = seededRandom(`vss ${curve}`);
    const { order, add, generator } = groupOf(curve);
    const polynomial = randomPolynomial(curve, 3, random);
    const commitments = commitTo(curve, polynomial);
    for (const nodeId of [1, 2, 5, 100]) {
      const share = shareFor(curve, polynomial, nodeId);
      expect(verifyShare(curve, share, nodeId, commitments)).toBe(true);
      expect(verifyShare(curve, (share + 1n) % order, nodeId, commitments)).toBe(false);
      expect(verifyShare(curve, order - share, nodeId, commitments)).toBe(false);
      expect(verifyShare(curve, share, nodeId + 1 > 100 ? 1 : nodeId + 1, commitments)).toBe(false);
      for (const wrong of [0, 1, 2]) {
        const changed = commitments.map((point, index) => (index === wrong ? add(point, generator) : point));
        expect(verifyShare(curve, share, nodeId, changed)).toBe(false);
      }
    }
  });

  test('a proof of possession holds for its dealer, context and point alone', () => {
    const random = seededRandom(`possession ${curve}`);
    const group = groupOf(curve);
    const secret = group.randomScalar(random);
    const publicKey = group.baseMultiply(secret);
    const statement = { curve, context: digest, dealerId: 2 };
    const proof = provePossession({ ...statement, secret, publicKey, random });
    expect(proof).toHaveLength(group.pointBytes + 32);
    expect(verifyPossession({ ...statement, proof, publicKey })).toBe(true);
    expect(verifyPossession({ ...statement, dealerId: 3, proof, publicKey })).toBe(false);
    expect(verifyPossession({ ...statement, context: flipBit(digest, 9), proof, publicKey })).toBe(false);
    expect(verifyPossession({ ...statement, proof, publicKey: group.negate(publicKey) })).toBe(false);
    for (let bit = 0; bit < proof.length * 8; bit += 7) {
      expect(verifyPossession({ ...statement, proof: flipBit(proof, bit), publicKey })).toBe(false);
    }
  });

  test('a child key derives from shares and from the public key alike', () => {
    const [first] = generateKey(curve, 2, 3, seededRandom(`derive ${curve}`));
    const { publicKey, chainCode, signingShare, verificationShares } = first!;
    const child = deriveTweak({ curve, publicKey, chainCode, path: [44, 0, 7] });
    const { baseMultiply, linearCombination } = groupOf(curve);
    expect(child.publicKey).toEqual(linearCombination(child.tweak, [[1n, publicKey]]));
    expect(baseMultiply(tweakShare(curve, signingShare, child.tweak))).toEqual(
      linearCombination(child.tweak, [[1n, verificationShares[0]!]]),
    );
  });
});

/** Six rounds meet both parities of key and nonce. */
const rounds = [1, 2, 3, 4, 5, 6];

describe.each(CURVES)('FROST on the model of %s', (curve) => {
  const suite = frostSuites[curve];

  test.each(rounds)('signs, verifies, and finds the wrong partial, round %i', (round) => {
    const { partials, input, keys, publicKey } = frostRound(curve, suite, `frost ${curve} ${round}`);
    const signature = frostAggregate({ ...input, partials });
    expect(signature).toHaveLength(64);
    expect(verifySchnorr(suite, signature, digest, publicKey)).toBe(true);
    const kind: ReleasedKind = curve === 'ed25519' ? 'ed25519' : 'bip340';
    expect(verifyReleased(kind, publicKey, digest, signature)).toBe(true);
    expect(verifyReleased(kind, publicKey, flipBit(digest, 5), signature)).toBe(false);
    for (let bit = 0; bit < 512; bit += 37) {
      expect(verifyReleased(kind, publicKey, digest, flipBit(signature, bit))).toBe(false);
    }
    const wrong = partials.map((entry, index) =>
      index === 1 ? { ...entry, partial: (entry.partial + 1n) % groupOf(curve).order } : entry,
    );
    expect(verifySchnorr(suite, frostAggregate({ ...input, partials: wrong }), digest, publicKey)).toBe(false);
    const blamed = wrong.filter(
      ({ nodeId, partial }) =>
        !verifyFrostPartial({ ...input, nodeId, partial, verificationShare: keys[0]!.verificationShares[nodeId - 1]! }),
    );
    expect(blamed.map(({ nodeId }) => nodeId)).toEqual([wrong[1]!.nodeId]);
  });
});

function frostRound(curve: Curve, suite: FrostSuite, label: string) {
  const random = seededRandom(label);
  const keys = generateKey(curve, 3, 5, random);
  const signers = [keys[0]!, keys[2]!, keys[4]!];
  const dealt = signers.map(({ nodeId }) => ({
    nodeId,
    ...dealFrostNonce({ suite, random, hedges: { hiding: random(32), binding: random(32) } }),
  }));
  const commitments = dealt.map(({ nodeId, commitments: made }) => ({ nodeId, ...made }));
  const { publicKey } = keys[0]!;
  const input = { suite, groupPublicKey: publicKey, message: digest, commitments };
  const partials = signers.map(({ nodeId, signingShare }, index) => ({
    nodeId,
    partial: frostPartial({ ...input, nodeId, signingShare, nonces: dealt[index]!.nonces }),
  }));
  return { keys, publicKey, input, partials };
}

describe('mock ECDSA on the model', () => {
  test.each(rounds)('signs low, recovers, and finds the wrong partial, round %i', (round) => {
    const random = seededRandom(`ecdsa ${round}`);
    const keys = generateKey('secp256k1', 3, 5, random);
    const { publicKey, verificationShares } = keys[0]!;
    const { kInverse, R, r } = combineMockNonces([1, 2, 3].map(() => dealMockNonce(random)));
    const partials = keys.slice(1, 4).map(({ nodeId, signingShare }) => ({
      nodeId,
      partial: mockEcdsaPartial({ kInverse, r, digest, signingShare }),
    }));
    const { order } = groupOf('secp256k1');
    for (const { nodeId, partial } of partials) {
      const check = { R, r, digest, verificationShare: verificationShares[nodeId - 1]! };
      expect(verifyMockEcdsaPartial({ ...check, partial })).toBe(true);
      expect(verifyMockEcdsaPartial({ ...check, partial: partial + 1n })).toBe(false);
      expect(verifyMockEcdsaPartial({ ...check, partial: order - partial })).toBe(false);
      expect(verifyMockEcdsaPartial({ ...check, partial, verificationShare: verificationShares[nodeId]! })).toBe(false);
    }
    const { signature, recoveryId } = aggregateMockEcdsa({ R, r, partials });
    expect(verifyEcdsa({ signature, digest, publicKey })).toBe(true);
    expect(recoverEcdsa({ signature, recoveryId, digest })).toEqual(publicKey);
    expect(recoverEcdsa({ signature, recoveryId: recoveryId ^ 1, digest })).not.toEqual(publicKey);
    expect(verifyReleased('ecdsa', publicKey, digest, signature)).toBe(true);
    expect(verifyReleased('ecdsa', publicKey, flipBit(digest, 40), signature)).toBe(false);
    expect(verifyReleased('ecdsa', keys[0]!.verificationShares[0]!, digest, signature)).toBe(false);
    for (let bit = 0; bit < 512; bit += 37) {
      expect(verifyReleased('ecdsa', publicKey, digest, flipBit(signature, bit))).toBe(false);
    }
    const group = groupOf('secp256k1');
    const high = group.encodeScalar(order - group.decodeScalar(signature.subarray(32)));
    expect(verifyEcdsa({ signature: concatBytes(signature.subarray(0, 32), high), digest, publicKey })).toBe(false);
  });
});

describe('identities and boxes of the model', () => {
  test('a signature holds for its key and message alone', () => {
    const { publicKey, secretKey } = identityFromSeed(digest);
    const other = identityFromSeed(flipBit(digest, 1));
    const signature = sign(secretKey, digest);
    expect(signature).toHaveLength(64);
    expect(verify(publicKey, digest, signature)).toBe(true);
    expect(verify(other.publicKey, digest, signature)).toBe(false);
    expect(verify(publicKey, flipBit(digest, 3), signature)).toBe(false);
    expect(verify(publicKey, digest, sign(other.secretKey, digest))).toBe(false);
    for (let bit = 0; bit < 512; bit += 11) expect(verify(publicKey, digest, flipBit(signature, bit))).toBe(false);
  });

  test('a box opens for its recipient and associated data, unchanged, and not otherwise', () => {
    const random = seededRandom('box');
    const recipient = sealingKeyPair(random(32));
    const other = sealingKeyPair(random(32));
    const plaintext = random(100);
    const box = seal({ recipientPublicKey: recipient.publicKey, plaintext, associatedData: digest, random });
    const opening = { recipient, box, associatedData: digest };
    expect(box).toHaveLength(148);
    expect(open(opening)).toEqual(plaintext);
    expect(sealingKeyMatches(recipient.secretKey, recipient.publicKey)).toBe(true);
    expect(sealingKeyMatches(other.secretKey, recipient.publicKey)).toBe(false);
    expectRefusal('SEAL_BROKEN', () => open({ ...opening, recipient: other }));
    expectRefusal('SEAL_BROKEN', () => open({ ...opening, associatedData: flipBit(digest, 0) }));
    expectRefusal('SEAL_BROKEN', () => open({ ...opening, box: box.subarray(1) }));
    expectRefusal('SEAL_BROKEN', () => open({ ...opening, box: new Uint8Array(47) }));
    for (let bit = 0; bit < box.length * 8; bit += 13) {
      expectRefusal('SEAL_BROKEN', () => open({ ...opening, box: flipBit(box, bit) }));
    }
  });
});

describe.each(CURVES)('who cheated in a DKG on the model of %s', (curve) => {
  const terms: DkgTerms = {
    tenant: 'tn',
    session: 'k',
    attempt: 1,
    rosterDigest: digest,
    curve,
    threshold: 2,
    totalNodes: 3,
  };

  function party(dealer: number) {
    const random = seededRandom(`party ${curve} ${dealer}`);
    const identity = identityFromSeed(random(32));
    const polynomial = randomPolynomial(curve, 2, random);
    const sealing = sealingKeyPair(random(32));
    const context = sessionContext(terms);
    const commitments = commitTo(curve, polynomial);
    const secret = polynomial[0]!;
    const possession = provePossession({
      curve,
      context,
      dealerId: dealer,
      secret,
      publicKey: commitments[0]!,
      random,
    });
    const unsigned = {
      dealer,
      commitments,
      possession,
      sealingKey: sealing.publicKey,
      clientSupplied: false,
    };
    const opening: DealerOpening = {
      ...unsigned,
      signature: sign(identity.secretKey, openingTranscript(context, unsigned)),
    };
    const dealTo = (recipient: number, recipientPublicKey: Uint8Array, share: bigint) => {
      const box = seal({
        recipientPublicKey,
        plaintext: groupOf(curve).encodeScalar(share),
        associatedData: sealingAssociatedData(context, dealer, recipient),
        random,
      });
      const sealed = { dealer, recipient, box };
      return { ...sealed, signature: sign(identity.secretKey, sealedShareTranscript(context, sealed)) };
    };
    return { identity, polynomial, sealing, opening, dealTo };
  }

  test('an honest opening passes; a changed one, or one with another proof, does not', () => {
    const [one, two] = [party(1), party(2)];
    expect(verifyOpening(terms, one.opening, one.identity.publicKey)).toBeUndefined();
    expect(verifyOpening(terms, one.opening, two.identity.publicKey)).toBe('OPENING_INVALID');
    const forged = { ...one.opening, possession: flipBit(one.opening.possession, 300) };
    expect(verifyOpening(terms, forged, one.identity.publicKey)).toBe('OPENING_INVALID');
    const signature = sign(one.identity.secretKey, openingTranscript(sessionContext(terms), forged));
    expect(verifyOpening(terms, { ...forged, signature }, one.identity.publicKey)).toBe('POSSESSION_INVALID');
  });

  test('a complaint convicts the dealer of a bad share, and the liar about a good one', () => {
    const [one, two] = [party(1), party(2)];
    const good = shareFor(curve, one.polynomial, 2);
    const complaint = (share: bigint, revealedSealingKey = two.sealing.secretKey) =>
      evaluateComplaint({
        terms,
        dealerOpening: one.opening,
        recipientOpening: two.opening,
        sealed: one.dealTo(2, two.sealing.publicKey, share),
        revealedSealingKey,
        dealerIdentityKey: one.identity.publicKey,
      });
    expect(complaint(good)).toBe(2);
    expect(complaint((good + 1n) % groupOf(curve).order)).toBe(1);
    expect(complaint((good + 1n) % groupOf(curve).order, one.sealing.secretKey)).toBe(2);
  });
});

describe('the choice of a cryptography', () => {
  afterEach(useModelCryptography);

  test('what is known to hold in one does not hold in the other', () => {
    const random = seededRandom('memo');
    const identity = identityFromSeed(random(32));
    const terms = { tenant: 't', session: 's', attempt: 1, rosterDigest: digest, curve: 'ed25519' as const };
    const whole = { ...terms, threshold: 2, totalNodes: 3 };
    const unsigned = { dealer: 1, commitments: [], possession: digest, sealingKey: digest, clientSupplied: false };
    const opening = {
      ...unsigned,
      signature: sign(identity.secretKey, openingTranscript(sessionContext(whole), unsigned)),
    };
    expect(isSignedOpening(whole, opening, identity.publicKey)).toBe(true);
    useRealCryptography();
    expect(isSignedOpening(whole, opening, identity.publicKey)).toBe(false);
    useModelCryptography();
    expect(isSignedOpening(whole, opening, identity.publicKey)).toBe(true);
  });

  test('a scope puts back what was chosen before, also when it fails', () => {
    const point = groupOf('ed25519').generator;
    expect(withCryptography('real', () => groupOf('ed25519').isValidPoint(point))).toBe(false);
    expect(cryptography()).toBe('model');
    const failing = () =>
      withCryptography('real', () => {
        throw new Error('within');
      });
    expect(failing).toThrow('within');
    expect(cryptography()).toBe('model');
  });

  test('a process that would serve refuses to with the model', () => {
    expect(cryptoBackend).toThrow(/model/);
    useRealCryptography();
    expect(['native', 'js']).toContain(cryptoBackend());
  });

  test('the real one verifies what other libraries sign, before and after', () => {
    useRealCryptography();
    const { keys, input, partials, publicKey } = frostRound('ed25519', 'FROST-ED25519-SHA512-v1', 'real');
    expect(keys).toHaveLength(5);
    const signature = frostAggregate({ ...input, partials });
    expect(verifyReleased('ed25519', publicKey, digest, signature)).toBe(true);
    expect(verifyReleased('ed25519', publicKey, flipBit(digest, 1), signature)).toBe(false);
    expect(withCryptography('model', () => verifyReleased('ed25519', publicKey, digest, signature))).toBe(false);
  });
});
