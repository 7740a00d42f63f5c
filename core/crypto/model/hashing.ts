/**
 * NOT CRYPTOGRAPHY: hashes that distribute well and resist no attack. Four 32-bit lanes in the manner of MurmurHash3 (Austin
 * Appleby, public domain, its x86_128 variant), expanded to the requested number of words.
 *
 * A simulation needs a hash that gives different outputs for different inputs, spread evenly over the scalars.
 * 128 bits of state do that; a transcript takes a third of the time of SHA-256.
 */
import type { HashFunctions } from '../hashing.ts';

/** The end of an input, filled up with zeros. */
const tail = new Uint8Array(16);

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

/** Four bytes, little-endian. */
function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** MurmurHash3's finalizer: every bit of the input affects every bit of the output. */
function stir(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** The output buffer; no caller needs more bytes. */
const spread = new Int32Array(8160 / 4 + 4);
const spreadBytes = new Uint8Array(spread.buffer);

/** Another output length gives an unrelated output. */
function scatter(input: Uint8Array, size: number, length: number): Uint8Array {
  let a = length;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let at = 0; at < size; at += 16) {
    let block = input;
    let from = at;
    if (at + 16 > size) {
      for (let index = 0; index < 16; index += 1) tail[index] = at + index < size ? input[at + index]! : 0;
      block = tail;
      from = 0;
    }
    a ^= Math.imul(rotate(Math.imul(wordAt(block, from), 0x239b961b), 15), 0xab0e9789);
    a = (Math.imul((rotate(a, 19) + b) | 0, 5) + 0x561ccd1b) | 0;
    b ^= Math.imul(rotate(Math.imul(wordAt(block, from + 4), 0xab0e9789), 16), 0x38b34ae5);
    b = (Math.imul((rotate(b, 17) + c) | 0, 5) + 0x0bcaa747) | 0;
    c ^= Math.imul(rotate(Math.imul(wordAt(block, from + 8), 0x38b34ae5), 17), 0xa1e38b93);
    c = (Math.imul((rotate(c, 15) + d) | 0, 5) + 0x96cd1c35) | 0;
    d ^= Math.imul(rotate(Math.imul(wordAt(block, from + 12), 0xa1e38b93), 18), 0x239b961b);
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

/** The buffer for keys and inputs. It grows to the longest input so far. */
let scratch = new Uint8Array(1024);

/** Writes the parts from the start of the scratch buffer, each but the last with its length in front; returns how many bytes. */
function keyed(parts: readonly Uint8Array[]): number {
  let needed = 0;
  for (const part of parts) needed += 2 + part.length;
  if (needed > scratch.length) scratch = new Uint8Array(2 * needed);
  let at = 0;
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index]!;
    if (index < parts.length - 1) {
      scratch[at] = part.length;
      scratch[at + 1] = part.length >> 8;
      at += 2;
    }
    scratch.set(part, at);
    at += part.length;
  }
  return at;
}

export const modelHashes: HashFunctions = {
  sha256: (input, length) => scatter(input, length, 32),
  sha512: (input, length) => scatter(input, length, 64),
  hmacSha512(key, input) {
    const size = keyed([key, input]);
    return scatter(scratch, size, 64);
  },
  mac(key, input) {
    const size = keyed([key, input]);
    return scatter(scratch, size, 16);
  },
  hkdfSha256(inputKey, salt, info, length) {
    const size = keyed([inputKey, salt, info]);
    return scatter(scratch, size, length);
  },
};
