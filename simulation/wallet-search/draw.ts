/** Choices of a random run, with a separate stream for each of its parts. */
import type { RandomBytes } from '../../core/actors/contract.ts';

export class Draw {
  readonly #random: RandomBytes;

  constructor(random: RandomBytes) {
    this.#random = random;
  }

  /** In [0, 1). */
  fraction(): number {
    const [a = 0, b = 0, c = 0] = this.#random(3);
    return (a * 65_536 + b * 256 + c) / 16_777_216;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** Throws for an empty list. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('nothing to pick from');
    return items[this.integer(0, items.length - 1)]!;
  }

  /** One of the names, by their weights. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[];
    let left = this.fraction() * names.reduce((sum, name) => sum + weights[name], 0);
    const drawn = names.find((name) => {
      left -= weights[name];
      return left < 0;
    });
    return drawn ?? names.at(-1)!;
  }
}
