import { x25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHex, utf8 } from '../../../core/crypto/bytes.ts';
import { open, SEAL_OVERHEAD_BYTES, seal, sealingKeyMatches, sealingKeyPair } from '../../../core/crypto/sealing.ts';
import { expectRefusal, flipBit, seededRandom } from './support.ts';

const random = seededRandom('sealing');
const recipient = sealingKeyPair(random(32));
const associatedData = utf8('tenant, session, attempt 1, from 1 to 2');
const plaintext = random(32);
const box = seal({ recipientPublicKey: recipient.publicKey, plaintext, associatedData, random });
const opened = (changed: object) => () => open({ recipient, box, associatedData, ...changed });

describe('sealed boxes', () => {
  it('open to exactly what was sealed, for any plaintext and associated data', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 50 }), (text, data) => {
        const sealed = seal({ recipientPublicKey: recipient.publicKey, plaintext: text, associatedData: data, random });
        expect(sealed).toHaveLength(text.length + SEAL_OVERHEAD_BYTES);
        expect(open({ recipient, box: sealed, associatedData: data })).toEqual(text);
      }),
      { numRuns: 30 },
    );
  });

  it('never open once any bit is changed', () => {
    fc.assert(
      fc.property(fc.nat(), (bit) => {
        // X25519 ignores the top bit of a public key, but the box's key derivation does not.
        expectRefusal('SEAL_BROKEN', opened({ box: flipBit(box, bit) }));
        expectRefusal('SEAL_BROKEN', opened({ associatedData: flipBit(associatedData, bit) }));
      }),
      { numRuns: 60 },
    );
    expectRefusal('SEAL_BROKEN', opened({ box: flipBit(box, 255) }));
  });

  it('never open for random bytes, a shorter box or another recipient', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => expectRefusal('SEAL_BROKEN', opened({ box: bytes }))),
      { numRuns: 30 },
    );
    for (const length of [0, 31, 47, box.length - 1]) {
      expectRefusal('SEAL_BROKEN', opened({ box: box.slice(0, length) }));
    }
    expectRefusal('SEAL_BROKEN', opened({ recipient: sealingKeyPair(random(32)) }));
  });

  it('refuse public keys that force an all-zero shared secret', () => {
    const zero = new Uint8Array(32);
    expectRefusal('SEAL_BROKEN', () => seal({ recipientPublicKey: zero, plaintext, associatedData, random }));
    expectRefusal('SEAL_BROKEN', opened({ box: new Uint8Array(80) }));
    expectRefusal('INVALID_BYTES', () =>
      seal({ recipientPublicKey: zero.slice(1), plaintext, associatedData, random }),
    );
  });

  it('open for anyone who has the recipient’s revealed sealing key, which can be checked', () => {
    expect(sealingKeyMatches(recipient.secretKey, recipient.publicKey)).toBe(true);
    expect(sealingKeyMatches(random(32), recipient.publicKey)).toBe(false);
    expect(sealingKeyMatches(new Uint8Array(31), recipient.publicKey)).toBe(false);
    expect(opened({})()).toEqual(plaintext);
  });

  it('use X25519 public keys as @noble/curves computes them', () => {
    expect(toHex(recipient.publicKey)).toBe(toHex(x25519.getPublicKey(recipient.secretKey)));
    expectRefusal('INVALID_BYTES', () => sealingKeyPair(new Uint8Array(33)));
  });

  it('differ for the same plaintext', () => {
    const again = seal({ recipientPublicKey: recipient.publicKey, plaintext, associatedData, random });
    expect(again).not.toEqual(box);
  });
});
