/** The verdict on signatures: right ones hold, and each planted fault is found. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { type Evidence, verifyAll } from '../../../clients/load/verdict/signatures.ts';
import { ecdsaEvidence, ed25519Evidence } from './support/evidence.ts';

describe('the verdict', () => {
  test('holds for right signatures on both curves', () => {
    const evidence = [...ecdsaEvidence(3), ...ed25519Evidence(3)];
    expect(verifyAll(evidence)).toMatchObject({ signatures: 6, verified: 6, sampled: 6, faults: [] });
  });

  test.each([
    ['another message', (each: Evidence) => ({ ...each, text: Buffer.from('another') })],
    ['a signature that is missing', (each: Evidence) => ({ ...each, signature: new Uint8Array() })],
    [
      'a changed signature',
      (each: Evidence) => ({ ...each, signature: each.signature.map((byte, at) => byte ^ (at === 40 ? 1 : 0)) }),
    ],
  ])('finds %s', (_, spoil) => {
    for (const [good] of [ecdsaEvidence(1), ed25519Evidence(1)]) {
      const verdict = verifyAll([spoil(good!)]);
      expect(verdict).toMatchObject({ signatures: 1, verified: 0 });
      expect(verdict.faults).toHaveLength(1);
    }
  });

  test('finds a wrong recovery id, a high s, a second signature and a repeated nonce point', () => {
    const [ecdsa] = ecdsaEvidence(1);
    const { order } = { order: secp256k1.Point.Fn.ORDER };
    const s = BigInt(`0x${Buffer.from(ecdsa!.signature.subarray(32)).toString('hex')}`);
    const high = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
    const highS = { ...ecdsa!, signature: Buffer.concat([ecdsa!.signature.subarray(0, 32), high]) };
    expect(verifyAll([highS]).verified).toBe(0);
    expect(verifyAll([{ ...ecdsa!, recoveryId: ecdsa!.recoveryId ^ 1 }]).verified).toBe(0);
    expect(verifyAll([ecdsa!, ecdsa!]).faults).toEqual([
      expect.stringContaining('two signatures'),
      expect.stringContaining('nonce point'),
    ]);
  });
});
