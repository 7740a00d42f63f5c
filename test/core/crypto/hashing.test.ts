import { createHash, createHmac, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex, u32be } from '../../../core/crypto/bytes.ts';
import { hkdfSha256, hmacSha512, sha256, sha512 } from '../../../core/crypto/hashing.ts';
import { vendorMac, vendorMacAgeMaxMs } from '../../../core/crypto/vendor-mac.ts';
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

  it('authenticates messages of a vendor by HMAC-SHA-512, cut to 32 bytes, over kind and parts with their lengths', () => {
    const secret = new Uint8Array(32).fill(7);
    const part = (text: string) => Buffer.concat([u32be(Buffer.byteLength(text)), Buffer.from(text)]);
    const input = ['signmesh/vendor/v1', 'answer', 'ab', 'ü', ''].map(part);
    const expected = createHmac('sha512', secret).update(Buffer.concat(input)).digest('hex').slice(0, 64);
    expect(vendorMac(secret, 'answer', 'ab', 'ü', '')).toBe(expected);
    expect(vendorMac(secret, 'request', 'ab', 'ü', '')).not.toBe(expected);
    expect(vendorMac(secret, 'answer', 'a', 'bü', '')).not.toBe(expected);
    expect(vendorMacAgeMaxMs).toBe(300_000);
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
