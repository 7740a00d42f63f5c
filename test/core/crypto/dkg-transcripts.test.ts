/** The transcripts of a key generation: exact bytes, computed here by node:crypto, and the checks over them. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { utf8 } from '../../../core/crypto/bytes.ts';
import {
  type DealerOpening,
  type DkgTerms,
  decodeShare,
  evaluateComplaint,
  type FinishedDkg,
  finishDigest,
  finishTranscript,
  isSignedOpening,
  openingTranscript,
  openSealedShare,
  sameResult,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
  verifyFinished,
  verifyOpening,
  verifySealedShare,
} from '../../../core/crypto/dkg-transcripts.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { identityFromSeed, sign } from '../../../core/crypto/identity.ts';
import { provePossession } from '../../../core/crypto/possession.ts';
import { seal, sealingKeyPair } from '../../../core/crypto/sealing.ts';
import { commitTo, shareFor } from '../../../core/crypto/vss.ts';
import { seededRandom } from './support.ts';

const random = seededRandom('dkg transcripts');
const number = (value: number) => Uint8Array.from([0, 0, value >> 8, value & 0xff]);

/** SHA-256 over the tag and the parts, each behind its length in four bytes. */
function digest(tag: string, ...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of [utf8(tag), ...parts]) hash.update(number(part.length)).update(part);
  return Uint8Array.from(hash.digest());
}

const terms: DkgTerms = {
  tenant: 'acme',
  session: 'kgs_1',
  attempt: 2,
  rosterDigest: random(32),
  curve: 'secp256k1',
  threshold: 2,
  totalNodes: 3,
  participants: [1, 4, 5],
  scheme: 'bip340',
};
const context = sessionContext(terms);
/** The nodes' identities and sealing keys. */
const nodes = new Map(
  [1, 4, 5].map((id) => [id, { identity: identityFromSeed(random(32)), sealing: sealingKeyPair(random(32)) }]),
);
const polynomial = [11n, 12n];

function openingOf(dealer: number, of: DkgTerms = terms, shared = polynomial): DealerOpening {
  const { identity, sealing } = nodes.get(dealer)!;
  const commitments = commitTo(of.curve, shared);
  const unsigned = {
    dealer,
    commitments,
    possession: provePossession({
      curve: of.curve,
      context: sessionContext(of),
      dealerId: dealer,
      secret: shared[0]!,
      publicKey: commitments[0]!,
      random,
    }),
    sealingKey: sealing.publicKey,
    clientSupplied: false,
  };
  return { ...unsigned, signature: sign(identity.secretKey, openingTranscript(sessionContext(of), unsigned)) };
}

function sealedShare(dealer: number, recipient: number, share = shareFor(terms.curve, polynomial, recipient)) {
  const box = seal({
    recipientPublicKey: nodes.get(recipient)!.sealing.publicKey,
    plaintext: groupOf(terms.curve).encodeScalar(share),
    associatedData: sealingAssociatedData(context, dealer, recipient),
    random,
  });
  const unsigned = { dealer, recipient, box };
  const signature = sign(nodes.get(dealer)!.identity.secretKey, sealedShareTranscript(context, unsigned));
  return { ...unsigned, signature };
}

describe('the session context', () => {
  test('covers every term of the attempt', () => {
    const ids = [1, 4, 5].map(number);
    expect(context).toEqual(
      digest(
        'signmesh/dkg/context/v2',
        ...[utf8('acme'), utf8('kgs_1'), number(2), terms.rosterDigest, utf8('secp256k1')],
        ...[number(2), number(3), ...ids, utf8('bip340')],
      ),
    );
  });

  test('without participants they are the first nodes; an absent scheme is an empty one', () => {
    const { participants: _, scheme: __, ...rest } = terms;
    expect(sessionContext(rest)).toEqual(sessionContext({ ...rest, participants: [1, 2, 3], scheme: '' }));
    expect(sessionContext(rest)).not.toEqual(sessionContext({ ...rest, participants: [1, 2, 4] }));
  });
});

describe('the transcripts', () => {
  const opening = openingOf(4);
  const [first, second] = opening.commitments as [Uint8Array, Uint8Array];

  test('of an opening covers its fields; of a client’s opening the commitments only', () => {
    const { possession, sealingKey } = opening;
    const tag = 'signmesh/dkg/opening/v1';
    expect(openingTranscript(context, opening)).toEqual(
      digest(tag, context, number(4), Uint8Array.of(0), possession, sealingKey, number(2), first, second),
    );
    const none = new Uint8Array(0);
    expect(openingTranscript(context, { ...opening, clientSupplied: true })).toEqual(
      digest(tag, context, number(4), Uint8Array.of(1), none, none, number(2), first, second),
    );
  });

  test('of one opening in two contexts differ', () => {
    const other = sessionContext({ ...terms, attempt: 3 });
    expect(openingTranscript(other, opening)).not.toEqual(openingTranscript(context, opening));
    expect(openingTranscript(other, opening)).toEqual(openingTranscript(other, { ...opening }));
  });

  test('of a sealed share, and its associated data, name dealer and recipient', () => {
    expect(sealingAssociatedData(context, 4, 5)).toEqual(digest('signmesh/dkg/seal/v1', context, number(4), number(5)));
    const box = random(80);
    expect(sealedShareTranscript(context, { dealer: 4, recipient: 5, box })).toEqual(
      digest('signmesh/dkg/sealed-share/v1', context, number(4), number(5), box),
    );
  });

  test('of a result covers openings by dealer, key, chain code and verification shares', () => {
    const result = { publicKey: first, verificationShares: [second, first], chainCode: random(32) };
    const openings = [openingOf(5), openingOf(1), opening];
    const sorted = [openings[1]!, opening, openings[0]!].map((each) => openingTranscript(context, each));
    const transcriptDigest = finishDigest(context, { ...result, openings });
    expect(transcriptDigest).toEqual(
      digest(
        'signmesh/dkg/finish-digest/v1',
        ...[context, number(3), ...sorted, first, result.chainCode, number(2), second, first],
      ),
    );
    expect(finishTranscript(context, { ...result, nodeId: 5, transcriptDigest })).toEqual(
      digest(
        'signmesh/dkg/finished/v2',
        ...[context, number(5), transcriptDigest, first, result.chainCode, number(2), second, first],
      ),
    );
  });
});

describe('an opening', () => {
  const key = (dealer: number) => nodes.get(dealer)!.identity.publicKey;
  const opening = openingOf(4);

  test('holds for its terms, its dealer and its key', () => {
    expect(verifyOpening(terms, opening, key(4))).toBeUndefined();
    // Once more, from what is already known.
    expect(verifyOpening(terms, opening, key(4))).toBeUndefined();
    expect(verifyOpening(terms, opening, key(5))).toBe('OPENING_INVALID');
    expect(verifyOpening(terms, { ...opening, dealer: 5 }, key(4))).toBe('OPENING_INVALID');
    expect(verifyOpening({ ...terms, attempt: 3 }, opening, key(4))).toBe('OPENING_INVALID');
    expect(isSignedOpening(terms, opening, key(4))).toBe(true);
    expect(isSignedOpening(terms, opening, key(5))).toBe(false);
  });

  test('of a node outside the attempt, even one that it signed, is invalid', () => {
    const outside = openingOf(4, { ...terms, participants: [1, 2, 5] });
    expect(verifyOpening({ ...terms, participants: [1, 2, 5] }, outside, key(4))).toBe('OPENING_INVALID');
  });

  test('with a proof for another attempt, signed for this one, is the dealer’s fault', () => {
    const { possession } = openingOf(4, { ...terms, attempt: 1 });
    const unsigned = { ...opening, possession };
    const signature = sign(nodes.get(4)!.identity.secretKey, openingTranscript(context, unsigned));
    expect(verifyOpening(terms, { ...unsigned, signature }, key(4))).toBe('POSSESSION_INVALID');
    // A signed opening is not a proven one.
    expect(isSignedOpening(terms, { ...unsigned, signature }, key(4))).toBe(true);
    expect(verifyOpening(terms, { ...unsigned, signature }, key(4))).toBe('POSSESSION_INVALID');
  });

  test('with too few or too many commitments is invalid, also of a client', () => {
    for (const shared of [[11n], [11n, 12n, 13n]]) {
      expect(verifyOpening(terms, openingOf(4, terms, shared), key(4))).toBe('OPENING_INVALID');
      const supplied = { ...openingOf(4, terms, shared), clientSupplied: true };
      expect(verifyOpening(terms, supplied, key(4))).toBe('OPENING_INVALID');
    }
    expect(verifyOpening(terms, { ...opening, clientSupplied: true }, key(4))).toBeUndefined();
    expect(isSignedOpening(terms, { ...opening, clientSupplied: true }, key(4))).toBe(false);
  });
});

describe('a sealed share', () => {
  const { sealing } = nodes.get(5)!;
  const sealed = sealedShare(4, 5);
  const commitments = commitTo(terms.curve, polynomial);
  const opened = (changed: object, recipient = sealing) =>
    openSealedShare({ terms, sealed: { ...sealed, ...changed }, commitments, recipient });

  test('opens to its share for its recipient alone', () => {
    expect(opened({})).toEqual({ kind: 'share', share: 11n + 5n * 12n });
    expect(opened({ recipient: 1 })).toEqual({ kind: 'fault', code: 'BOX_BROKEN' });
    expect(opened({ dealer: 1 })).toEqual({ kind: 'fault', code: 'BOX_BROKEN' });
    expect(opened({}, sealingKeyPair(random(32)))).toEqual({ kind: 'fault', code: 'BOX_BROKEN' });
    expect(opened(sealedShare(4, 5, 72n))).toEqual({ kind: 'fault', code: 'SHARE_INVALID' });
    expect(decodeShare('secp256k1', new Uint8Array(32))).toBeUndefined();
    expect(decodeShare('secp256k1', new Uint8Array(32).fill(0xff))).toBeUndefined();
  });

  test('has its dealer’s signature, for its box and its recipient', () => {
    const key = nodes.get(4)!.identity.publicKey;
    expect(verifySealedShare(terms, sealed, key)).toBe(true);
    expect(verifySealedShare(terms, { ...sealed, recipient: 1 }, key)).toBe(false);
    expect(verifySealedShare(terms, { ...sealed, box: sealedShare(4, 5).box }, key)).toBe(false);
    expect(verifySealedShare({ ...terms, tenant: 'other' }, sealed, key)).toBe(false);
  });

  test('about which its recipient complains convicts the one who lies', () => {
    const about = (changed: object) =>
      evaluateComplaint({
        terms,
        dealerOpening: openingOf(4),
        recipientOpening: openingOf(5),
        sealed,
        revealedSealingKey: sealing.secretKey,
        dealerIdentityKey: nodes.get(4)!.identity.publicKey,
        ...changed,
      });
    expect(about({}), 'a good share').toBe(5);
    expect(about({ sealed: sealedShare(4, 5, 72n) }), 'a wrong share').toBe(4);
    expect(about({ sealed: sealedShare(4, 5, 72n), revealedSealingKey: random(32) }), 'another key').toBe(5);
    expect(about({ sealed: { ...sealed, signature: new Uint8Array(64) } }), 'no signature').toBeUndefined();
    expect(about({ sealed: sealedShare(4, 1) }), 'another recipient').toBeUndefined();
    expect(about({ dealerOpening: openingOf(1) }), 'another dealer').toBeUndefined();
  });
});

describe('a result', () => {
  const [one, two, three] = [1n, 2n, 3n].map(groupOf('secp256k1').baseMultiply) as [Uint8Array, Uint8Array, Uint8Array];
  const unsigned = {
    nodeId: 5,
    publicKey: one,
    verificationShares: [two, three],
    chainCode: new Uint8Array(32),
    transcriptDigest: new Uint8Array(32).fill(1),
  };
  const { identity } = nodes.get(5)!;
  const result: FinishedDkg = { ...unsigned, signature: sign(identity.secretKey, finishTranscript(context, unsigned)) };
  const others: readonly (readonly [string, Partial<FinishedDkg>])[] = [
    ['public key', { publicKey: two }],
    ['chain code', { chainCode: new Uint8Array(32).fill(1) }],
    ['transcript', { transcriptDigest: new Uint8Array(32) }],
    ['first verification share', { verificationShares: [one, three] }],
    ['last verification share', { verificationShares: [two, one] }],
    ['one verification share less', { verificationShares: [two] }],
    ['one verification share more', { verificationShares: [two, three, one] }],
  ];

  test.each(others)('with another %s is another one, which its node did not sign', (_what, change) => {
    expect(sameResult(result, { ...result, ...change })).toBe(false);
    expect(sameResult({ ...result, ...change }, result)).toBe(false);
    expect(verifyFinished(terms, { ...result, ...change }, identity.publicKey)).toBe(false);
  });

  test('is the same of another node, whose signature differs', () => {
    expect(sameResult(result, { ...result, nodeId: 1, signature: new Uint8Array(64) })).toBe(true);
    expect(verifyFinished(terms, result, identity.publicKey)).toBe(true);
    expect(verifyFinished(terms, { ...result, nodeId: 1 }, identity.publicKey)).toBe(false);
    expect(verifyFinished({ ...terms, attempt: 1 }, result, identity.publicKey)).toBe(false);
  });
});
