import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ByteReader,
  concatBytes,
  encodeParts,
  equalBytes,
  fromHex,
  takeRandom,
  toHex,
  transcriptHash,
  u32be,
  u64be,
  utf8,
} from '../../crypto/bytes.ts';
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

  it('refuses hex that is odd or has foreign characters', () => {
    for (const text of ['a', '0g', ' 00', '0x00', '00\n']) expectRefusal('INVALID_BYTES', () => fromHex(text));
  });

  it('writes integers that the reader reads back, and refuses those that do not fit', () => {
    fc.assert(
      fc.property(fc.nat(), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), bytes(), (small, wide, part) => {
        const reader = new ByteReader(
          concatBytes(u32be(small), u64be(wide), encodeParts(part), Uint8Array.of(7), part),
        );
        expect([reader.u32be(), reader.u64be(), reader.prefixed(), reader.u8()]).toEqual([small, wide, part, 7]);
        expect(reader.rest()).toEqual(part);
        reader.end();
      }),
    );
    expect(new ByteReader(u32be(0xffffffff)).u32be()).toBe(0xffffffff);
    for (const value of [-1, 1.5, 2 ** 32, Number.NaN]) expectRefusal('INVALID_BYTES', () => u32be(value));
    for (const value of [-1n, 1n << 64n, 2 ** 53]) expectRefusal('INVALID_BYTES', () => u64be(value));
  });

  it('refuses short reads and left-over bytes', () => {
    expectRefusal('INVALID_BYTES', () => new ByteReader(new Uint8Array(3)).u32be());
    expectRefusal('INVALID_BYTES', () => new ByteReader(concatBytes(u32be(9), new Uint8Array(8))).prefixed());
    expectRefusal('INVALID_BYTES', () => new ByteReader(new Uint8Array(1)).end());
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
