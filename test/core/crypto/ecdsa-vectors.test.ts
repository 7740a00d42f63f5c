/**
 * Project Wycheproof's ECDSA vectors over secp256k1 with SHA-256, in the form r ‖ s that signatures have here.
 *
 * Two rules of ours are stricter than SEC 1: a signature has 64 bytes, and s is low. So a valid vector with a high s is
 * refused as it stands and accepted with q − s; the vectors that Wycheproof calls acceptable (lengths) are refused.
 */
import { createHash } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, it } from 'vitest';
import { fromHex } from '../../../core/crypto/bytes.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { recoverEcdsa, verifyEcdsa } from '../../../core/crypto/mock-ecdsa.ts';
import { readVectors } from './support.ts';

interface WycheproofEcdsa {
  readonly id: number;
  readonly key: string;
  readonly msg: string;
  readonly sig: string;
  readonly result: 'valid' | 'invalid' | 'acceptable';
  readonly why: string;
}

const { tests } = readVectors<WycheproofEcdsa>('wycheproof-ecdsa-secp256k1.json');
const { order } = groupOf('secp256k1');

const compressed = (key: string) => secp256k1.Point.fromHex(key).toBytes(true);
const digestOf = (message: string) => Uint8Array.from(createHash('sha256').update(fromHex(message)).digest());
const sOf = (signature: Uint8Array) => BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`);

function withLowS(signature: Uint8Array): Uint8Array {
  const s = sOf(signature);
  const low = s > order / 2n ? order - s : s;
  return Uint8Array.from([...signature.subarray(0, 32), ...Buffer.from(low.toString(16).padStart(64, '0'), 'hex')]);
}

it('the file is whole', () => {
  const count = (result: string) => tests.filter((each) => each.result === result).length;
  expect([count('valid'), count('invalid'), count('acceptable')]).toEqual([141, 67, 3]);
});

it.each(tests.filter(({ result }) => result === 'valid'))('$id verifies with low s: $why', ({ key, msg, sig }) => {
  const [signature, digest, publicKey] = [fromHex(sig), digestOf(msg), compressed(key)];
  expect(verifyEcdsa({ signature: withLowS(signature), digest, publicKey })).toBe(true);
  expect(verifyEcdsa({ signature, digest, publicKey })).toBe(sOf(signature) <= order / 2n);
});

it.each(tests.filter(({ result }) => result !== 'valid'))('$id does not verify: $why', ({ key, msg, sig }) => {
  const [signature, digest, publicKey] = [fromHex(sig), digestOf(msg), compressed(key)];
  expect(verifyEcdsa({ signature, digest, publicKey })).toBe(false);
  for (const recoveryId of [0, 1, 2, 3]) {
    expect(recoverEcdsa({ signature, recoveryId, digest })).not.toEqual(publicKey);
  }
});
