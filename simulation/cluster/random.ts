/**
 * Labelled streams of pseudo-random bytes from one seed: the same seed and label give the same bytes, and using one stream does
 * not change another.
 *
 * sfc32 (Chris Doty-Humphrey, PractRand), its state from SHA-256 over seed and label: uniform and fast, and no party of a
 * simulation tries to predict it. The byte order is the same on every machine.
 */
import type { RandomBytes } from '../../core/actors/contract.ts';
import { utf8 } from '../../core/crypto/bytes.ts';
import { realSha256 } from '../../core/crypto/hashing.ts';

/** Rounds after which the state's words no longer resemble their initial values. */
const roundsBefore = 12;

export function randomStream(seed: string, label: string): RandomBytes {
  let a = 0;
  let b = 0;
  let c = 0;
  let counter = 1;
  let begun = false;

  function begin(): void {
    const key = realSha256(utf8(JSON.stringify(['signmesh/sim', seed, label])));
    const wordAt = (at: number) => key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24);
    a = wordAt(0);
    b = wordAt(4);
    c = wordAt(8);
    begun = true;
    for (let round = 0; round < roundsBefore; round += 1) word();
  }

  function word(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  }

  return (length) => {
    // Many streams of a world are never drawn from: their hash is computed at the first draw.
    if (!begun) begin();
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at += 4) {
      const four = word();
      bytes[at] = four;
      // Writes beyond the end have no effect.
      bytes[at + 1] = four >>> 8;
      bytes[at + 2] = four >>> 16;
      bytes[at + 3] = four >>> 24;
    }
    return bytes;
  };
}
