/** Signatures of PKCS#11 tokens: the forms that chains take, and nothing else; the signer here is @noble/curves. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { concatBytes } from '../../../core/crypto/bytes.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { hsmChallenge, hsmSignature, isHsmSignature, verifyHsmPossession } from '../../../core/crypto/hsm.ts';
import { bigEndian32, integerAt, invert, modulo } from '../../../core/crypto/scalar.ts';
import { flipBit } from './support.ts';

const secret = new Uint8Array(32).fill(7);
const message = new Uint8Array(32).fill(0x5a);
const { order } = groupOf('secp256k1');

/** What a token of the curve returns: r ‖ s, of ECDSA with a low or a high s. */
const tokens = {
  secp256k1: {
    publicKey: secp256k1.getPublicKey(secret, true),
    sign: (digest: Uint8Array) => secp256k1.sign(digest, secret, { prehash: false }),
  },
  ed25519: { publicKey: ed25519.getPublicKey(secret), sign: (bytes: Uint8Array) => ed25519.sign(bytes, secret) },
};
const withS = (signature: Uint8Array, s: bigint) => concatBytes(signature.subarray(0, 32), bigEndian32(s));

describe.each(['secp256k1', 'ed25519'] as const)('a signature of a token on %s', (curve) => {
  const { publicKey, sign } = tokens[curve];
  const given = sign(message);
  const other = sign(new Uint8Array(32));

  test('leaves in the form of the chain, and no other form passes', () => {
    const signature = hsmSignature(curve, given, message, publicKey)!;
    expect(signature.subarray(0, 64)).toEqual(Uint8Array.from(given));
    expect(isHsmSignature(curve, signature, message, publicKey)).toBe(true);
    expect(isHsmSignature(curve, signature, new Uint8Array(32), publicKey)).toBe(false);
    for (const wrong of [signature.subarray(0, -1), concatBytes(signature, Uint8Array.of(0)), new Uint8Array(0)]) {
      expect(isHsmSignature(curve, wrong, message, publicKey)).toBe(false);
    }
    for (let bit = 0; bit < signature.length * 8; bit += 13) {
      expect(isHsmSignature(curve, flipBit(signature, bit), message, publicKey)).toBe(false);
    }
  });

  test('is none of another message, length or key', () => {
    const strange = curve === 'ed25519' ? ed25519.getPublicKey(message) : secp256k1.getPublicKey(message, true);
    expect(hsmSignature(curve, other, message, publicKey)).toBeUndefined();
    expect(hsmSignature(curve, given, message, strange)).toBeUndefined();
    for (const length of [0, 63, 65]) {
      expect(hsmSignature(curve, concatBytes(given, given).subarray(0, length), message, publicKey)).toBeUndefined();
    }
  });

  test('proves the key for its curve, context and dealer alone', () => {
    const statement = { curve, context: message, dealerId: 3 };
    const proof = sign(hsmChallenge(statement));
    expect(verifyHsmPossession({ ...statement, proof, publicKey })).toBe(true);
    expect(verifyHsmPossession({ ...statement, dealerId: 4, proof, publicKey })).toBe(false);
    expect(verifyHsmPossession({ ...statement, context: flipBit(message, 3), proof, publicKey })).toBe(false);
    expect(hsmChallenge({ ...statement, curve: 'ed25519' })).not.toEqual(
      hsmChallenge({ ...statement, curve: 'secp256k1' }),
    );
  });
});

test.each([
  ['half of the order, rounded down, is low', order / 2n, order / 2n],
  ['one more is high', order / 2n + 1n, order / 2n],
])('an s of %s', (_what, s, low) => {
  // The secret for which this s signs with the nonce 9: (s·k − m)/r.
  const R = groupOf('secp256k1').baseMultiply(9n);
  const r = integerAt(R, 1);
  const own = modulo((9n * s - integerAt(message, 0)) * invert(r, order), order);
  const given = concatBytes(bigEndian32(r), bigEndian32(s));
  const signature = hsmSignature('secp256k1', given, message, groupOf('secp256k1').baseMultiply(own))!;
  const odd = R[0]! & 1;
  expect(signature).toEqual(concatBytes(bigEndian32(r), bigEndian32(low), Uint8Array.of(s === low ? odd : 1 - odd)));
});

test('a high s becomes low, with the recovery id of the low one; s of 0, the order and above is none', () => {
  const { publicKey, sign } = tokens.secp256k1;
  const recoveryIds = new Set<number>();
  for (let index = 0; index < 8; index += 1) {
    const digest = new Uint8Array(32).fill(index);
    const low = sign(digest);
    const s = integerAt(low, 32);
    const signature = hsmSignature('secp256k1', low, digest, publicKey)!;
    expect(hsmSignature('secp256k1', withS(low, order - s), digest, publicKey)).toEqual(signature);
    const recovered = secp256k1.recoverPublicKey(
      concatBytes(signature.subarray(64), signature.subarray(0, 64)),
      digest,
      {
        prehash: false,
      },
    );
    expect(Buffer.from(recovered)).toEqual(Buffer.from(publicKey));
    recoveryIds.add(signature[64]!);
    for (const none of [0n, order, order + 1n]) {
      expect(hsmSignature('secp256k1', withS(low, none), digest, publicKey)).toBeUndefined();
    }
  }
  expect(recoveryIds).toEqual(new Set([0, 1]));
});
