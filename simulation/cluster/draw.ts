/** The choices of random runs: the same stream gives the same choices, in the order of the calls. */
import type { RandomBytes } from '../../core/actors/contract.ts';

const blockBytes = 1024;

export class Draw {
  readonly #random: RandomBytes;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** `random`: a stream for these choices alone. */
  constructor(random: RandomBytes) {
    this.#random = random;
  }

  /** In [0, 1). */
  fraction(): number {
    if (this.#at + 4 > this.#block.length) {
      this.#block = Buffer.from(this.#random(blockBytes));
      this.#at = 0;
    }
    const word = this.#block.readUInt32LE(this.#at);
    this.#at += 4;
    return word / 2 ** 32;
  }

  /** Both ends included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to choose from');
    return list[this.int(0, list.length - 1)]!;
  }

  /** At most `count` of the list, in its order. */
  some<T>(list: readonly T[], count: number): T[] {
    const left = list.map((_, index) => index);
    while (left.length > count) left.splice(this.int(0, left.length - 1), 1);
    return left.map((index) => list[index]!);
  }

  /** Each with this probability, and at least one of them. */
  swarm<T>(list: readonly T[], probability: number): T[] {
    const chosen = list.filter(() => this.chance(probability));
    return chosen.length > 0 ? chosen : [this.pick(list)];
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
