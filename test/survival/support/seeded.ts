/** Random choices that a printed seed repeats. (What real processes do in between, it does not repeat.) */
import { createHash, randomBytes } from 'node:crypto';

/** SURVIVAL_SEED, or a fresh one; either way it is printed. */
export function announcedSeed(what: string): string {
  const seed = process.env.SURVIVAL_SEED || randomBytes(6).toString('hex');
  process.stdout.write(`${what}: SURVIVAL_SEED=${seed}\n`);
  return seed;
}

export class Seeded {
  readonly #seed: string;
  #drawn = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.bytes(4).readUInt32BE() / 2 ** 32;
  }

  /** In [min, max]. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(0, choices.length - 1)]!;
  }

  /** At most 32. */
  bytes(length: number): Buffer {
    this.#drawn += 1;
    return createHash('sha256').update(`${this.#seed}/${this.#drawn}`).digest().subarray(0, length);
  }
}
