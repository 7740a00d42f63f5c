import { createHash, createHmac, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../crypto/bytes.ts';
import { hkdfSha256, hmacSha512, sha256, sha512 } from '../../crypto/hashing.ts';
import { expectRefusal } from './support.ts';

describe('hashing', () => {
  it('agrees with node:crypto on any split of the input', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }), (parts) => {
        const whole = Buffer.concat(parts);
        expect(toHex(sha256(...parts))).toBe(createHash('sha256').update(whole).digest('hex'));
        expect(toHex(sha512(...parts))).toBe(createHash('sha512').update(whole).digest('hex'));
        expect(toHex(hmacSha512(whole, ...parts))).toBe(createHmac('sha512', whole).update(whole).digest('hex'));
      }),
      { numRuns: 50 },
    );
  });

  it('agrees with node:crypto on HKDF of any length', () => {
    const input = () => fc.uint8Array({ minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(
        input(),
        fc.uint8Array({ maxLength: 64 }),
        input(),
        fc.integer({ min: 1, max: 200 }),
        (k, s, i, n) => {
          expect(toHex(hkdfSha256(k, s, i, n))).toBe(Buffer.from(hkdfSync('sha256', k, s, i, n)).toString('hex'));
        },
      ),
      { numRuns: 50 },
    );
    for (const length of [0, 8161, 1.5]) {
      expectRefusal('INVALID_BYTES', () => hkdfSha256(new Uint8Array(1), new Uint8Array(0), new Uint8Array(0), length));
    }
  });

  it('meets test case 1 of RFC 5869 appendix A', () => {
    const output = hkdfSha256(
      new Uint8Array(22).fill(0x0b),
      fromHex('000102030405060708090a0b0c'),
      fromHex('f0f1f2f3f4f5f6f7f8f9'),
      42,
    );
    expect(toHex(output)).toBe('3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865');
  });
});
