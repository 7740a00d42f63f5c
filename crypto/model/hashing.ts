/**
 * NOT CRYPTOGRAPHY: hashes that scatter well and resist nobody. Four 32-bit lanes in the manner of MurmurHash3 (Austin
 * Appleby, public domain, its x86_128 variant), spread over as many words as are asked for.
 *
 * What a simulation needs of a hash is that different inputs give different outputs, spread evenly over the scalars.
 * 128 bits of state do that; a transcript costs a third of what SHA-256 takes.
 */
import type { HashFunctions } from '../hashing.ts';

/** The input, in whole blocks of 16 bytes. Grows to the longest ever seen. */
let block = new Uint8Array(4096);
let words = new Int32Array(block.buffer);

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

/** MurmurHash3's finalizer: every bit of the input moves every bit of the output. */
function stir(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Where the output is put together; nobody asks for more. */
const spread = new Int32Array(8160 / 4 + 4);
const spreadBytes = new Uint8Array(spread.buffer);

/** Another length of the output gives an unrelated one. */
function scatter(input: Uint8Array, size: number, length: number): Uint8Array {
  const padded = (size + 15) & ~15;
  if (padded > block.length) {
    block = new Uint8Array(padded * 2);
    words = new Int32Array(block.buffer);
  }
  if (size === input.length) block.set(input);
  else for (let index = 0; index < size; index += 1) block[index] = input[index]!;
  for (let index = size; index < padded; index += 1) block[index] = 0;

  let a = length;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let at = 0; at < padded >> 2; at += 4) {
    a ^= Math.imul(rotate(Math.imul(words[at]!, 0x239b961b), 15), 0xab0e9789);
    a = (Math.imul((rotate(a, 19) + b) | 0, 5) + 0x561ccd1b) | 0;
    b ^= Math.imul(rotate(Math.imul(words[at + 1]!, 0xab0e9789), 16), 0x38b34ae5);
    b = (Math.imul((rotate(b, 17) + c) | 0, 5) + 0x0bcaa747) | 0;
    c ^= Math.imul(rotate(Math.imul(words[at + 2]!, 0x38b34ae5), 17), 0xa1e38b93);
    c = (Math.imul((rotate(c, 15) + d) | 0, 5) + 0x96cd1c35) | 0;
    d ^= Math.imul(rotate(Math.imul(words[at + 3]!, 0xa1e38b93), 18), 0x239b961b);
    d = (Math.imul((rotate(d, 13) + a) | 0, 5) + 0x32ac3b17) | 0;
  }
  a = stir((a ^ size) + (b ^ size) + (c ^ size) + (d ^ size));
  b = stir((b ^ size) + a);
  c = stir((c ^ size) + b);
  d = stir((d ^ size) + c);

  for (let at = 0; at < (length + 3) >> 2; at += 4) {
    a = stir((a + 0x9e3779b9) ^ d);
    b = stir((b + 0x9e3779b9) ^ a);
    c = stir((c + 0x9e3779b9) ^ b);
    d = stir((d + 0x9e3779b9) ^ c);
    spread[at] = a;
    spread[at + 1] = b;
    spread[at + 2] = c;
    spread[at + 3] = d;
  }
  return spreadBytes.slice(0, length);
}

/** The key and the input, told apart by a length in front. */
function keyed(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([Uint8Array.of(key.length & 255, key.length >> 8), key, ...parts]);
}

export const modelHashes: HashFunctions = {
  sha256: (input, length) => scatter(input, length, 32),
  sha512: (input) => scatter(input, input.length, 64),
  hmacSha512(key, input) {
    const whole = keyed(key, input);
    return scatter(whole, whole.length, 64);
  },
  hkdfSha256(inputKey, salt, info, length) {
    const whole = keyed(inputKey, keyed(salt, info));
    return scatter(whole, whole.length, length);
  },
};
