/**
 * Labelled streams of pseudo-random bytes from one seed: the same seed and label give the same bytes, and one stream's
 * use does not move another.
 *
 * sfc32 (Chris Doty-Humphrey, PractRand), its state from SHA-256 over seed and label: even and quick, and
 * nobody in a simulation tries to guess. Bytes are written in one order on every machine.
 */
import { createHash } from 'node:crypto';
import type { RandomBytes } from '../actors/contract.ts';

/** Rounds after which the state's words no longer resemble what they began with. */
const roundsBefore = 12;

export function randomStream(seed: string, label: string): RandomBytes {
  const key = createHash('sha256')
    .update(JSON.stringify(['signmesh/sim', seed, label]))
    .digest();
  let a = key.readInt32LE(0);
  let b = key.readInt32LE(4);
  let c = key.readInt32LE(8);
  let counter = 1;

  function word(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  }
  for (let round = 0; round < roundsBefore; round += 1) word();

  return (length) => {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at += 4) {
      const four = word();
      bytes[at] = four;
      // What lies beyond the end is not written.
      bytes[at + 1] = four >>> 8;
      bytes[at + 2] = four >>> 16;
      bytes[at + 3] = four >>> 24;
    }
    return bytes;
  };
}
