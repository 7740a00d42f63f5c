/** The MACs of orders, against other libraries' X25519, HKDF and BLAKE2b, and against what they must not hold for. */
import { hkdfSync } from 'node:crypto';
import { ed25519, x25519 } from '@noble/curves/ed25519.js';
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeParts, toHex, u32be, utf8 } from '../../../core/crypto/bytes.ts';
import { mac } from '../../../core/crypto/hashing.ts';
import { agreedSecret, identityFromSeed } from '../../../core/crypto/identity.ts';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import {
  gatewayMacs,
  macHolds,
  nodeOrderKey,
  type OrderTerms,
  orderDigest,
  witnessDigest,
} from '../../../core/crypto/order-macs.ts';
import { macFor } from '../../../proto/call-orders.ts';
import { expectRefusal, flipBit } from './support.ts';

const seedOf = (id: number) => new Uint8Array(32).fill(id);
const identityOf = (id: number) => identityFromSeed(seedOf(id));
const membersOf = (clusterId: string) => ({
  clusterId,
  gateway: identityOf(202).publicKey,
  nodes: [1, 2, 3].map((id) => ({ id, publicKey: identityOf(id).publicKey })),
});

const terms: OrderTerms = {
  tenant: 'acme',
  sessionId: 'sig_00000000-0000-7000-8000-000000000000',
  keyId: 'treasury',
  keystoreType: 4,
  curve: 'secp256k1',
  derivationPath: "m/44'/0'/0'/0/7",
  message: new Uint8Array(32).fill(9),
  intentId: 'payment-17',
  walletService: false,
  needsWitness: false,
  expiresMs: 1_800_000_000_000,
};

/** Every field of an order, changed. */
const others: readonly OrderTerms[] = [
  { ...terms, tenant: 'acme2' },
  { ...terms, sessionId: 'sig_00000000-0000-7000-8000-000000000001' },
  { ...terms, keyId: 'treasury2' },
  { ...terms, keystoreType: 1 },
  { ...terms, keystoreType: 0 },
  { ...terms, curve: '' },
  { ...terms, derivationPath: "m/44'/0'/0'/0/8" },
  { ...terms, message: new Uint8Array(32).fill(8) },
  { ...terms, message: new Uint8Array(31).fill(9) },
  { ...terms, intentId: 'payment-18' },
  { ...terms, walletService: true },
  { ...terms, needsWitness: true },
  { ...terms, expiresMs: 1_800_000_000_001 },
  // The same bytes, shared out otherwise.
  { ...terms, tenant: 'acm', sessionId: `e${terms.sessionId}` },
  { ...terms, walletService: false, needsWitness: true },
];

describe('the agreed secret', () => {
  it('is that of X25519 as @noble/curves computes it, the same from either side', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (a, b) => {
          const [one, other] = [identityFromSeed(a), identityFromSeed(b)];
          const shared = agreedSecret(one.secretKey, other.publicKey);
          expect(agreedSecret(other.secretKey, one.publicKey)).toEqual(shared);
          const { toMontgomery, toMontgomerySecret } = ed25519.utils;
          const expected = x25519.getSharedSecret(toMontgomerySecret(a), toMontgomery(other.publicKey));
          expect(toHex(shared)).toBe(toHex(expected));
        },
      ),
      { numRuns: 20 },
    );
  });

  it('is refused with what is no public key, or of small order', () => {
    const { secretKey } = identityOf(1);
    const identity = new Uint8Array(32);
    identity[0] = 1;
    for (const wrong of [new Uint8Array(32).fill(255), identity]) {
      expectRefusal('INVALID_POINT', () => agreedSecret(secretKey, wrong));
    }
    expectRefusal('INVALID_BYTES', () => agreedSecret(secretKey, new Uint8Array(31)));
    expectRefusal('INVALID_BYTES', () => agreedSecret(new Uint8Array(32), identityOf(2).publicKey));
  });
});

describe('a MAC', () => {
  it('is keyed BLAKE2b of 16 bytes as @noble/hashes computes it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array({ maxLength: 400 }), (key, input) => {
        expect(toHex(mac(key, input))).toBe(toHex(blake2b(input, { key, dkLen: 16 })));
      }),
      { numRuns: 50 },
    );
  });

  it('needs a key of 32 bytes', () => {
    expectRefusal('INVALID_BYTES', () => mac(new Uint8Array(16), new Uint8Array(1)));
  });
});

describe('an order', () => {
  const members = membersOf('cl_test');
  const macs = gatewayMacs(members, identityOf(202).secretKey);
  const keyOf = (id: number) => nodeOrderKey(members, id, identityOf(id).secretKey);

  it('has one MAC a node, as its parts say', () => {
    const given = macs.order(terms);
    expect(given.length).toBe(3 * 16);
    for (const { id, publicKey } of members.nodes) {
      const { toMontgomery, toMontgomerySecret } = ed25519.utils;
      const shared = x25519.getSharedSecret(toMontgomerySecret(seedOf(202)), toMontgomery(publicKey));
      const info = encodeParts(utf8('cl_test'), members.gateway, u32be(id), publicKey);
      const key = new Uint8Array(hkdfSync('sha256', shared, utf8('signmesh/order-key/v1'), info, 32));
      expect(toHex(keyOf(id))).toBe(toHex(key));
      expect(toHex(macFor(id, given))).toBe(toHex(blake2b(orderDigest(terms), { key, dkLen: 16 })));
      expect(macHolds(keyOf(id), orderDigest(terms), macFor(id, given))).toBe(true);
    }
  });

  it('has the digest of all its fields, as JSON, and of the message', () => {
    const text = `["acme","${terms.sessionId}","treasury",4,"secp256k1","m/44'/0'/0'/0/7","payment-17",false,false,1800000000000]`;
    const transcript = encodeParts(utf8('signmesh/order/v1'), utf8(text), terms.message);
    expect(toHex(orderDigest(terms))).toBe(toHex(sha256(transcript)));
  });

  it('holds for nothing else that could be asked for', () => {
    const given = macFor(2, macs.order(terms));
    for (const [index, other] of others.entries()) {
      expect(macHolds(keyOf(2), orderDigest(other), given), `case ${index}`).toBe(false);
    }
  });

  it('holds at no other node, in no other cluster, of no other gateway, and not changed', () => {
    const given = macs.order(terms);
    const digest = orderDigest(terms);
    expect(macHolds(keyOf(1), digest, macFor(2, given))).toBe(false);
    const elsewhere = gatewayMacs(membersOf('cl_other'), identityOf(202).secretKey);
    expect(macHolds(keyOf(2), digest, macFor(2, elsewhere.order(terms)))).toBe(false);
    const stranger = gatewayMacs(members, identityOf(203).secretKey);
    expect(macHolds(keyOf(2), digest, macFor(2, stranger.order(terms)))).toBe(false);
    for (let bit = 0; bit < 128; bit += 1) {
      expect(macHolds(keyOf(2), digest, flipBit(macFor(2, given), bit))).toBe(false);
    }
    expect(macHolds(keyOf(2), digest, macFor(2, given).subarray(0, 15))).toBe(false);
    expect(macHolds(keyOf(2), digest, macFor(4, given))).toBe(false);
  });

  it('for a witness is one for its session alone, and never one to sign', () => {
    const given = macFor(2, macs.witness(terms));
    expect(macHolds(keyOf(2), witnessDigest(terms), given)).toBe(true);
    for (const other of [
      { ...terms, sessionId: 'sig_2' },
      { ...terms, tenant: 'other' },
    ]) {
      expect(macHolds(keyOf(2), witnessDigest(other), given)).toBe(false);
    }
    expect(macHolds(keyOf(2), orderDigest(terms), given)).toBe(false);
    expect(macHolds(keyOf(2), witnessDigest(terms), macFor(2, macs.order(terms)))).toBe(false);
  });

  it('has a model that refuses what the real one refuses', () => {
    withCryptography('model', () => {
      const model = membersOf('cl_test');
      const of = (id: number) => nodeOrderKey(model, id, identityOf(id).secretKey);
      const given = gatewayMacs(model, identityOf(202).secretKey).order(terms);
      expect(macHolds(of(2), orderDigest(terms), macFor(2, given))).toBe(true);
      expect(macHolds(of(1), orderDigest(terms), macFor(2, given))).toBe(false);
      for (const other of others) expect(macHolds(of(2), orderDigest(other), macFor(2, given))).toBe(false);
    });
  });
});
