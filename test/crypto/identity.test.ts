import { createPublicKey, verify as nodeVerify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../crypto/bytes.ts';
import { identityFromSeed, sign, verify } from '../../crypto/identity.ts';
import { expectRefusal, flipBit } from './support.ts';

describe('identities', () => {
  it('meet test 1 of RFC 8032 section 7.1', () => {
    const identity = identityFromSeed(fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'));
    expect(toHex(identity.publicKey)).toBe('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');
    expect(toHex(sign(identity.secretKey, new Uint8Array(0)))).toBe(
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    );
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
