/** The model's hashes: the same input gives the same output, another gives another, and the bits are spread evenly. */
import { describe, expect, test } from 'vitest';
import { toHex, transcriptHash, u32be } from '../../../../core/crypto/bytes.ts';
import { hashes as hashFunctions, hkdfSha256, hmacSha512, sha256, sha512 } from '../../../../core/crypto/hashing.ts';
import { withCryptography } from '../../../../core/crypto/model/switch.ts';
import { expectRefusal, flipBit, seededRandom } from '../support.ts';
import { withTheModel } from './support.ts';

withTheModel();

const hashes = {
  sha256: (input: Uint8Array) => sha256(input),
  sha512: (input: Uint8Array) => sha512(input),
  hmac: (input: Uint8Array) => hmacSha512(new Uint8Array(32), input),
  'hmac key': (input: Uint8Array) => hmacSha512(input, new Uint8Array(32)),
  hkdf: (input: Uint8Array) => hkdfSha256(input, new Uint8Array(0), new Uint8Array(7), 64),
  'hkdf info': (input: Uint8Array) => hkdfSha256(new Uint8Array(32), new Uint8Array(0), input, 64),
};

describe.each(Object.entries(hashes))('%s', (_name, hash) => {
  test('gives the same again, something else than the real one, and moves half of the bits for any one', () => {
    const input = seededRandom('input')(77);
    const output = hash(input);
    expect(hash(input.slice())).toEqual(output);
    expect(withCryptography('real', () => hash(input))).not.toEqual(output);
    expect(withCryptography('real', () => hash(input))).toHaveLength(output.length);
    const total = output.length * 8;
    for (let bit = 0; bit < input.length * 8; bit += 1) {
      const moved = distance(output, hash(flipBit(input, bit)));
      expect(moved).toBeGreaterThan(total * 0.25);
      expect(moved).toBeLessThan(total * 0.75);
    }
  });
});

test('no two of many short inputs meet, in any eight bytes of the output', () => {
  const count = 20_000;
  const seen = Array.from({ length: 8 }, () => new Set<string>());
  for (let index = 0; index < count; index += 1) {
    const hex = toHex(sha512(u32be(index)));
    for (const [part, values] of seen.entries()) values.add(hex.slice(part * 16, part * 16 + 16));
  }
  expect(seen.map(({ size }) => size)).toEqual(seen.map(() => count));
});

test('zeros at the end count, and so does how the parts are cut', () => {
  const lengths = Array.from({ length: 70 }, (_, length) => toHex(sha256(new Uint8Array(length))));
  expect(new Set(lengths).size).toBe(70);
  const [a, b] = [Uint8Array.of(1, 2), Uint8Array.of(3)];
  expect(transcriptHash('tag', a, b)).not.toEqual(transcriptHash('tag', Uint8Array.of(1), Uint8Array.of(2, 3)));
  expect(transcriptHash('tag', a, b)).not.toEqual(transcriptHash('other', a, b));
  expect(hmacSha512(a, b)).not.toEqual(hmacSha512(Uint8Array.of(1), Uint8Array.of(2, 3)));
});

test('inputs longer than any before are hashed whole', () => {
  const long = seededRandom('long')(20_000);
  expect(sha256(long)).not.toEqual(sha256(flipBit(long, 159_999)));
  expect(sha256(long)).toEqual(sha256(long.slice()));
});

test('of a buffer only the given length counts, and nothing of earlier inputs', () => {
  const buffer = seededRandom('buffer')(40);
  for (const hash of [hashFunctions.current.sha256, hashFunctions.current.sha512]) {
    for (let length = 0; length <= 40; length += 1) {
      expect(hash(buffer, length)).toEqual(hash(buffer.slice(0, length), length));
    }
  }
});

test('keys are cut at their whole length, beyond 255 bytes too', () => {
  const bytes = seededRandom('long key')(300);
  const cut = (at: number) => toHex(hmacSha512(bytes.subarray(0, at), bytes.subarray(at)));
  expect(new Set([1, 257, 44, 300].map(cut)).size).toBe(4);
});

test('HKDF refuses the lengths that the real one refuses', () => {
  expectRefusal('INVALID_BYTES', () => hkdfSha256(new Uint8Array(32), new Uint8Array(0), new Uint8Array(0), 0));
});

function distance(a: Uint8Array, b: Uint8Array): number {
  let bits = 0;
  for (const [index, byte] of a.entries()) {
    for (let rest = byte ^ b[index]!; rest !== 0; rest &= rest - 1) bits += 1;
  }
  return bits;
}
