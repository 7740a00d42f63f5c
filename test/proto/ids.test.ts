/** Ids against the layout of RFC 9562, and the contract's versions. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSupportedContractVersion } from '../../proto/contract-version.ts';
import { newId, uuidV7 } from '../../proto/ids.ts';

it('a UUIDv7 has the time in 48 bits, the version, the variant, and 74 random bits', () => {
  // RFC 9562, appendix A.6: rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F.
  const published = Buffer.from('cc30184dc0c0c07398f0', 'hex');
  expect(uuidV7(0x017f_22e2_79b0, () => published)).toBe('017f22e2-79b0-7cc3-8184-dc0c0c07398f');
  const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), bytes, (timeMs, given) => {
      const hex = Buffer.from(given).toString('hex');
      const variant = (8 | (Number.parseInt(hex[3]!, 16) & 3)).toString(16);
      const time = timeMs.toString(16).padStart(12, '0');
      const tail = `${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
      const id = `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${tail}`;
      expect(uuidV7(timeMs, () => given)).toBe(id);
      expect(newId('sig', timeMs, () => given)).toBe(`sig_${id}`);
    }),
  );
});

it('asks for ten random bytes, and two ids made one after the other share nothing but the time', () => {
  const asked: number[] = [];
  const filled = (byte: number) => (length: number) => {
    asked.push(length);
    return new Uint8Array(length).fill(byte);
  };
  expect(uuidV7(2 ** 48 - 1, filled(0xff))).toBe('ffffffff-ffff-7fff-bfff-ffffffffffff');
  expect(uuidV7(0, filled(0))).toBe('00000000-0000-7000-8000-000000000000');
  expect(asked).toEqual([10, 10]);
});

it('serves clients of the same major version without a higher minor one', () => {
  for (const version of ['', '1', 'v1', '1.0', 'v1.0', '1.0.0', '1.0.17', '01']) {
    expect(isSupportedContractVersion(version), version).toBe(true);
  }
  for (const version of [
    '0',
    '2',
    '1.1',
    'v1.1.0',
    '2.0',
    '0.0',
    '1.',
    '1.0.',
    '1.0.0.0',
    'V1',
    ' 1',
    '1\n',
    'x',
    '-1',
  ]) {
    expect(isSupportedContractVersion(version), version).toBe(false);
  }
});
