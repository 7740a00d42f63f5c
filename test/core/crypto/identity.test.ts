import { createPublicKey, verify as nodeVerify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../../core/crypto/bytes.ts';
import { identityFromSeed, sign, verify } from '../../../core/crypto/identity.ts';
import { expectRefusal, flipBit, readVectors } from './support.ts';

interface Rfc8032 {
  readonly name: string;
  readonly seed: string;
  readonly key: string;
  readonly msg: string;
  readonly sig: string;
}

interface WycheproofEddsa {
  readonly id: number;
  readonly key: string;
  readonly msg: string;
  readonly sig: string;
  readonly valid: boolean;
}

describe('identities', () => {
  it.each(readVectors<Rfc8032>('rfc8032.json').tests)('meet RFC 8032 section 7.1, $name', ({ seed, key, msg, sig }) => {
    const identity = identityFromSeed(fromHex(seed));
    expect(toHex(identity.publicKey)).toBe(key);
    expect(toHex(sign(identity.secretKey, fromHex(msg)))).toBe(sig);
    expect(verify(fromHex(key), fromHex(msg), fromHex(sig))).toBe(true);
  });

  it('verify what Project Wycheproof says is valid, and nothing that it says is not', () => {
    const { tests } = readVectors<WycheproofEddsa>('wycheproof-eddsa.json');
    expect(tests.length).toBe(145);
    const wrong = tests.filter(
      ({ key, msg, sig, valid }) => verify(fromHex(key), fromHex(msg), fromHex(sig)) !== valid,
    );
    expect(wrong).toEqual([]);
  });

  it('sign as @noble/curves does, and node:crypto verifies it', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 300 }),
        (seed, message) => {
          const identity = identityFromSeed(seed);
          const signature = sign(identity.secretKey, message);
          expect(toHex(signature)).toBe(toHex(ed25519.sign(message, seed)));
          const x = Buffer.from(identity.publicKey).toString('base64url');
          const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
          expect(nodeVerify(null, message, key, signature)).toBe(true);
          expect(verify(identity.publicKey, message, signature)).toBe(true);
        },
      ),
      { numRuns: 10 },
    );
  });

  it('refuse changed messages, signatures and keys, and random bytes', () => {
    const identity = identityFromSeed(new Uint8Array(32).fill(3));
    const message = new Uint8Array(40).fill(9);
    const signature = sign(identity.secretKey, message);
    fc.assert(
      fc.property(fc.nat(), fc.uint8Array({ maxLength: 70 }), (bit, bytes) => {
        expect(verify(identity.publicKey, flipBit(message, bit), signature)).toBe(false);
        expect(verify(identity.publicKey, message, flipBit(signature, bit))).toBe(false);
        expect(verify(flipBit(identity.publicKey, bit), message, signature)).toBe(false);
        expect(verify(bytes, message, signature)).toBe(false);
        expect(verify(identity.publicKey, message, bytes)).toBe(false);
      }),
      { numRuns: 40 },
    );
    expectRefusal('INVALID_BYTES', () => identityFromSeed(new Uint8Array(31)));
    expectRefusal('INVALID_BYTES', () => sign(new Uint8Array(32), message));
  });
});
