import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concatBytes,
  encodeParts,
  equalBytes,
  fromHex,
  latin1,
  takeRandom,
  toHex,
  transcriptHash,
  u32be,
  u64be,
  utf8,
} from '../../../core/crypto/bytes.ts';
import { expectRefusal } from './support.ts';

const bytes = () => fc.uint8Array({ maxLength: 40 });

describe('bytes', () => {
  it('joins, compares and converts to hex and back', () => {
    fc.assert(
      fc.property(bytes(), bytes(), (a, b) => {
        const joined = concatBytes(a, b);
        expect(joined.slice(0, a.length)).toEqual(a);
        expect(fromHex(toHex(joined))).toEqual(joined);
        expect(fromHex(toHex(joined).toUpperCase())).toEqual(joined);
        expect(equalBytes(a, b)).toBe(toHex(a) === toHex(b));
      }),
    );
  });

  it.each([1, 16, 32, 64, 128, 129, 300])('compares all of %i bytes', (length) => {
    const all = new Uint8Array(length).fill(0x5a);
    expect(equalBytes(all, all.slice())).toBe(true);
    expect(equalBytes(all, all.subarray(1))).toBe(false);
    for (let at = 0; at < length; at += 1) {
      const other = all.slice();
      other[at]! ^= 0x80;
      expect(equalBytes(all, other), `byte ${at}`).toBe(false);
    }
  });

  // Its buffer holds 32 KiB.
  it.each([32_767, 32_768, 32_769, 40_000])('converts and hashes %i bytes', (length) => {
    const long = Uint8Array.from({ length }, (_, index) => index % 251);
    expect(toHex(long)).toBe(Buffer.from(long).toString('hex'));
    expect(Buffer.compare(fromHex(toHex(long)), long)).toBe(0);
    const part = long.subarray(0, length - 9);
    const whole = Buffer.concat([u32be(1), utf8('t'), u32be(part.length), part]);
    expect(transcriptHash('t', part)).toEqual(Uint8Array.from(createHash('sha256').update(whole).digest()));
    expect(utf8('x'.repeat(length))).toHaveLength(length);
    expect(utf8('€'.repeat(Math.ceil(length / 3)))).toHaveLength(3 * Math.ceil(length / 3));
  });

  it('makes a key of a map of parts: a character a byte', () => {
    expect(latin1(Uint8Array.of(0, 65), Uint8Array.of(255))).toBe('\0A\xff');
  });

  it('refuses hex that is odd or has foreign characters', () => {
    for (const text of ['a', '0g', ' 00', '0x00', '00\n']) expectRefusal('INVALID_BYTES', () => fromHex(text));
  });

  it('writes integers that a DataView reads back, and refuses those that do not fit', () => {
    const view = (written: Uint8Array) => new DataView(written.buffer, written.byteOffset, written.length);
    fc.assert(
      fc.property(
        fc.nat({ max: 2 ** 32 - 1 }),
        fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
        bytes(),
        (small, wide, part) => {
          expect(view(u32be(small)).getUint32(0)).toBe(small);
          expect(view(u64be(wide)).getBigUint64(0)).toBe(wide);
          expect(encodeParts(part)).toEqual(concatBytes(u32be(part.length), part));
        },
      ),
    );
    for (const value of [-1, 1.5, 2 ** 32, Number.NaN]) expectRefusal('INVALID_BYTES', () => u32be(value));
    for (const value of [-1n, 1n << 64n, 2 ** 53]) expectRefusal('INVALID_BYTES', () => u64be(value));
  });

  it('refuses a random source that answers with another length', () => {
    expectRefusal('INVALID_BYTES', () => takeRandom(() => new Uint8Array(31), 32));
  });

  it('gives different transcripts different hashes, wherever the parts are cut', () => {
    fc.assert(
      fc.property(fc.array(bytes(), { maxLength: 4 }), fc.array(bytes(), { maxLength: 4 }), (a, b) => {
        const same = a.length === b.length && a.every((part, index) => equalBytes(part, b[index]!));
        expect(equalBytes(transcriptHash('t', ...a), transcriptHash('t', ...b))).toBe(same);
      }),
    );
    const [ab, c, a, bc] = ['ab', 'c', 'a', 'bc'].map(utf8);
    expect(transcriptHash('t', ab!, c!)).not.toEqual(transcriptHash('t', a!, bc!));
    expect(transcriptHash('t', ab!)).not.toEqual(transcriptHash('ta', a!));
    expect(transcriptHash('t')).not.toEqual(transcriptHash('t', new Uint8Array(0)));
    expect(transcriptHash('t')).toHaveLength(32);
  });
});
