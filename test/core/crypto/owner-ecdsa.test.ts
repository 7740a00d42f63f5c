/** Owners' signatures: what Safe's ecrecover would take, and nothing else; owners that are different nodes' different keys. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { evmAddressOf } from '../../../core/crypto/evm-address.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { publicKeyPackage } from '../../../core/crypto/key-package.ts';
import { isOwnerSignature, joinOwnerSignatures, signAsOwner } from '../../../core/crypto/owner-ecdsa.ts';

const digest = new Uint8Array(32).fill(0x5a);
const ownerOf = (secret: bigint) => groupOf('secp256k1').baseMultiply(secret);
const { order } = groupOf('secp256k1');

/** The same signature with other bytes at its end. */
function withV(signature: Uint8Array, v: number): Uint8Array {
  return Uint8Array.of(...signature.subarray(0, 64), v);
}

describe('an owner’s signature', () => {
  const signature = signAsOwner(7n, digest);

  test('is taken as its owner made it, for its digest', () => {
    expect(isOwnerSignature(signature, digest, ownerOf(7n))).toBe(true);
    expect(isOwnerSignature(signature, digest, ownerOf(8n))).toBe(false);
    expect(isOwnerSignature(signature, new Uint8Array(32), ownerOf(7n))).toBe(false);
    expect(isOwnerSignature(signAsOwner(8n, digest), digest, ownerOf(7n))).toBe(false);
  });

  test('has v 27 or 28, the right one', () => {
    const right = signature[64]!;
    const taken = Array.from({ length: 256 }, (_, v) => v).filter((v) =>
      isOwnerSignature(withV(signature, v), digest, ownerOf(7n)),
    );
    expect(taken).toEqual([right]);
    expect([27, 28]).toContain(right);
  });

  test('has a low s: its twin, which recovers to the same key, is refused', () => {
    const s = BigInt(`0x${Buffer.from(signature.subarray(32, 64)).toString('hex')}`);
    const high = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
    const twin = Uint8Array.of(...signature.subarray(0, 32), ...high, 55 - signature[64]!);
    const recovered = secp256k1.recoverPublicKey(Uint8Array.of(twin[64]! - 27, ...twin.subarray(0, 64)), digest, {
      prehash: false,
    });
    expect(Buffer.from(recovered)).toEqual(Buffer.from(ownerOf(7n)));
    expect(isOwnerSignature(twin, digest, ownerOf(7n))).toBe(false);
  });

  test.each([0, 64, 66])('of %d bytes is none', (length) => {
    const given = Uint8Array.of(...signature, 0).subarray(0, length);
    expect(isOwnerSignature(given, digest, ownerOf(7n))).toBe(false);
  });

  test.each([0, 31, 33])('of a digest of %d bytes is neither made nor accepted', (length) => {
    const wrong = new Uint8Array(length);
    expect(() => signAsOwner(7n, wrong)).toThrow(expect.objectContaining({ code: 'INVALID_MESSAGE' }));
    expect(isOwnerSignature(signature, wrong, ownerOf(7n))).toBe(false);
  });
});

test('signatures are joined by their owners’ addresses, whatever the order of the nodes', () => {
  const signed = [1n, 2n, 3n, 4n, 5n].map((secret) => ({
    owner: ownerOf(secret),
    signature: signAsOwner(secret, digest),
  }));
  const joined = joinOwnerSignatures(signed);
  expect(joinOwnerSignatures([...signed].reverse())).toEqual(joined);
  const addresses = [0, 1, 2, 3, 4].map((place) => {
    const one = joined.slice(65 * place, 65 * (place + 1));
    const { owner } = signed.find(({ owner }) => isOwnerSignature(one, digest, owner))!;
    return Buffer.from(evmAddressOf(owner)).toString('hex');
  });
  expect(addresses).toEqual([...addresses].sort());
  expect(new Set(addresses).size).toBe(5);
  expect(addresses).not.toEqual(signed.map(({ owner }) => Buffer.from(evmAddressOf(owner)).toString('hex')));
});

test('two nodes with one key make no owners', () => {
  const owners = (...secrets: bigint[]) =>
    publicKeyPackage({
      curve: 'secp256k1',
      threshold: 2,
      totalNodes: 3,
      ownKeys: 'node',
      commitmentsByDealer: secrets.map((secret) => [ownerOf(secret)]),
    });
  expect(owners(1n, 2n, 3n).verificationShares).toHaveLength(3);
  expect(() => owners(1n, 2n, 1n)).toThrow(expect.objectContaining({ code: 'INVALID_COMMITMENTS' }));
});

// The addresses of the private keys 1 and 2, and of the first account of the well-known test mnemonic.
test.each([
  ['1', '7e5f4552091a69125d5dfcb7b8c2659029395bdf'],
  ['2', '2b5ad5c4795c026514f8317c7a215e218dccd6cf'],
  ['ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80', 'f39fd6e51aad88f6f4ce6ab8827279cfffb92266'],
])('the key %s has the address 0x%s', (secret, address) => {
  expect(Buffer.from(evmAddressOf(ownerOf(BigInt(`0x${secret}`)))).toString('hex')).toBe(address);
});
