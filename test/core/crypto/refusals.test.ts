/** Inputs that the arithmetic alone would let pass, or whose check another check seems to make. */
import { hkdfSync } from 'node:crypto';
import sodium from 'sodium-native';
import { describe, expect, test } from 'vitest';
import { decryptRecord, encryptBriefRecord } from '../../../core/crypto/at-rest.ts';
import { concatBytes, takeRandom, toHex, utf8 } from '../../../core/crypto/bytes.ts';
import {
  type DkgTerms,
  isSignedOpening,
  openingTranscript,
  sessionContext,
  verifyOpening,
} from '../../../core/crypto/dkg-transcripts.ts';
import { assertFrostRound } from '../../../core/crypto/frost/context.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { hsmSignature, isHsmSignature } from '../../../core/crypto/hsm.ts';
import { identityFromSeed, sign } from '../../../core/crypto/identity.ts';
import { finishDkg, publicKeyPackage } from '../../../core/crypto/key-package.ts';
import { combineMockNonces, recoverEcdsa } from '../../../core/crypto/mock-ecdsa.ts';
import { deletionDigest, gatewayMacs, macHolds, nodeOrderKey } from '../../../core/crypto/order-macs.ts';
import { isOwnerSignature } from '../../../core/crypto/owner-ecdsa.ts';
import { provePossession, verifyPossession } from '../../../core/crypto/possession.ts';
import { bigEndian32, integerAt } from '../../../core/crypto/scalar.ts';
import { sealingKeyPair } from '../../../core/crypto/sealing.ts';
import { commitTo, shareFor } from '../../../core/crypto/vss.ts';
import { dealAll, expectRefusal, pointBeyondOrder, seededRandom } from './support.ts';

const random = seededRandom('refusals');
const group = groupOf('secp256k1');
const digest = new Uint8Array(32).fill(0x5a);

test('a record of format 2 is sealed under a key derived from the record key, never under that key', () => {
  const key = random(32);
  const record = encryptBriefRecord(key, utf8('name'), utf8('secret'), random);
  const open = (under: Uint8Array): Uint8Array => {
    const opened = new Uint8Array('secret'.length);
    const [nonce, body] = [record.subarray(1, 25), record.subarray(25)];
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(opened, null, body, utf8('name'), nonce, under);
    return opened;
  };
  const derived = new Uint8Array(hkdfSync('sha256', key, new Uint8Array(0), utf8('signmesh/at-rest/v2'), 32));
  expect(toHex(open(derived))).toBe(toHex(utf8('secret')));
  expect(() => open(key)).toThrow();
  expect(toHex(decryptRecord(key, utf8('name'), record))).toBe(toHex(utf8('secret')));
});

test('an order to delete a key holds for this tenant’s key alone', () => {
  const [gateway, node] = [identityFromSeed(random(32)), identityFromSeed(random(32))];
  const members = { clusterId: 'cl', gateway: gateway.publicKey, nodes: [{ id: 1, publicKey: node.publicKey }] };
  const given = gatewayMacs(members, gateway.secretKey).deletion({ tenant: 'acme', keyId: 'k' });
  const holds = (tenant: string, keyId: string) =>
    macHolds(nodeOrderKey(members, 1, node.secretKey), deletionDigest({ tenant, keyId }), given);
  expect([holds('acme', 'k'), holds('other', 'k'), holds('acme', 'l'), holds('acmek', '')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test('a random source that gives more than it was asked for is refused, too', () => {
  for (const length of [0, 15, 17]) expectRefusal('INVALID_BYTES', () => takeRandom(() => new Uint8Array(length), 16));
});

describe('a nonce point whose abscissa is above the order', () => {
  const abscissa = integerAt(pointBeyondOrder(), 1);
  const signature = concatBytes(bigEndian32(abscissa % group.order), bigEndian32(1n));
  /** The key under which this is a signature, with the recovery id 2. */
  const publicKey = recoverEcdsa({ signature, recoveryId: 2, digest })!;

  test('has a recovery id of 2 or 3 in a token’s signature', () => {
    const given = hsmSignature('secp256k1', signature, digest, publicKey);
    expect(given).toEqual(concatBytes(signature, Uint8Array.of(2)));
  });

  test('is none of an owner: ecrecover takes v of 27 and 28 alone', () => {
    expect(isOwnerSignature(concatBytes(signature, Uint8Array.of(29)), digest, publicKey)).toBe(false);
  });
});

test('a token’s signature with another recovery id is refused', () => {
  const publicKey = recoverEcdsa({ signature: concatBytes(bigEndian32(1n), bigEndian32(1n)), recoveryId: 0, digest });
  const whole = hsmSignature('secp256k1', concatBytes(bigEndian32(1n), bigEndian32(1n)), digest, publicKey!)!;
  const taken = [0, 1, 2, 3, 4].filter((id) =>
    isHsmSignature('secp256k1', concatBytes(whole.subarray(0, 64), Uint8Array.of(id)), digest, publicKey!),
  );
  expect(taken).toEqual([whole[64]]);
});

test('a nonce of a proof depends on the secret, also with a random source that is stuck', () => {
  const statement = { curve: 'secp256k1', context: utf8('c'), dealerId: 1, random: () => new Uint8Array(32) } as const;
  const publicKey = group.baseMultiply(5n);
  const commitments = [5n, 6n].map((secret) => provePossession({ ...statement, secret, publicKey }).slice(0, 33));
  expect(toHex(commitments[0]!)).not.toBe(toHex(commitments[1]!));
  const proof = provePossession({ ...statement, secret: 5n, publicKey });
  expectRefusal('INVALID_NODE_ID', () => verifyPossession({ ...statement, dealerId: 0, proof, publicKey }));
});

test('a contribution to a nonce is below the order', () => {
  expect(combineMockNonces([group.order - 1n]).R).toEqual(group.negate(group.generator));
  for (const wrong of [0n, group.order, group.order + 1n]) {
    expectRefusal('INVALID_NONCE', () => combineMockNonces([1n, wrong]));
  }
});

test('a FROST round whose binding commitment has another length is refused before it is hashed', () => {
  const point = group.generator;
  const round = {
    suite: 'FROST-secp256k1-SHA256-TR-v1',
    groupPublicKey: point,
    message: digest,
    commitments: [{ nodeId: 1, hiding: point, binding: point.slice(1) }],
  } as const;
  expectRefusal('INVALID_POINT', () => assertFrostRound(round));
});

describe('a key generation', () => {
  test('is refused when all dealers commit to one point more than the threshold', () => {
    const { commitmentsByDealer } = dealAll('secp256k1', 3, 4, random);
    const transcript = { curve: 'secp256k1', threshold: 2, totalNodes: 4, commitmentsByDealer } as const;
    expectRefusal('INVALID_COMMITMENTS', () => publicKeyPackage(transcript));
  });

  test('takes one share of each dealer, and no further one that changes no sum', () => {
    const { commitmentsByDealer, polynomials } = dealAll('secp256k1', 2, 3, random);
    const terms = { curve: 'secp256k1', threshold: 2, totalNodes: 3, nodeId: 1, commitmentsByDealer } as const;
    const sharesByDealer = polynomials.map((polynomial) => shareFor('secp256k1', polynomial, 1));
    expectRefusal('INVALID_SHARE', () => finishDkg({ ...terms, sharesByDealer: [...sharesByDealer, 0n] }));
  });

  test('of a token has one node, which signs alone', () => {
    const transcript = { curve: 'secp256k1', threshold: 1, totalNodes: 1, ownKeys: 'hsm' } as const;
    const key = publicKeyPackage({ ...transcript, commitmentsByDealer: [[group.generator]] });
    expect([key.publicKey, key.verificationShares]).toEqual([group.generator, [group.generator]]);
  });
});

describe('an opening that passed once', () => {
  const terms: DkgTerms = {
    ...{ tenant: 'acme', session: 'kgs_1', attempt: 1, rosterDigest: random(32) },
    ...{ curve: 'secp256k1', threshold: 2, totalNodes: 3 },
  };
  const identity = identityFromSeed(random(32));
  const context = sessionContext(terms);
  const opening = (commitments: readonly Uint8Array[]) => {
    const publicKey = commitments[0]!;
    const possession = provePossession({ curve: 'secp256k1', context, dealerId: 2, secret: 11n, publicKey, random });
    const sealingKey = sealingKeyPair(random(32)).publicKey;
    const unsigned = { dealer: 2, commitments, possession, sealingKey, clientSupplied: false };
    return { ...unsigned, signature: sign(identity.secretKey, openingTranscript(context, unsigned)) };
  };
  const commitments = commitTo('secp256k1', [11n, 12n]);

  test('does not pass with another signature', () => {
    const good = opening(commitments);
    expect(verifyOpening(terms, good, identity.publicKey)).toBeUndefined();
    const other = { ...good, signature: new Uint8Array(64) };
    expect(isSignedOpening(terms, other, identity.publicKey)).toBe(false);
    expect(verifyOpening(terms, other, identity.publicKey)).toBe('OPENING_INVALID');
  });

  test('with points that were only to be added does not pass where each is checked', () => {
    const bad = opening([commitments[0]!, new Uint8Array(33).fill(5)]);
    expect(verifyOpening(terms, bad, identity.publicKey)).toBe('OPENING_INVALID');
  });

  test('needs a whole sealing key, which its dealer may not leave out, and a whole signature', () => {
    const good = opening(commitments);
    const short = { ...good, sealingKey: good.sealingKey.slice(1) };
    const signature = sign(identity.secretKey, openingTranscript(context, short));
    expect(isSignedOpening(terms, { ...short, signature }, identity.publicKey)).toBe(false);
    expect(isSignedOpening(terms, { ...good, signature: good.signature.slice(1) }, identity.publicKey)).toBe(false);
  });
});
