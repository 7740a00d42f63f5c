/** The choices of a run of wallets. */
import type { RandomBytes } from '../../../core/actors/contract.ts';
import { Draw } from '../../cluster/draw.ts';

/** A word's first three bytes count, the highest first: so the seeds that tests name draw what they drew when a fault was found. */
export function drawFrom(random: RandomBytes): Draw {
  return new Draw((length) => {
    const words = Buffer.from(random(length));
    for (let at = 0; at < length; at += 4) {
      words[at + 3] = 0;
      words.subarray(at, at + 4).reverse();
    }
    return words;
  });
}
