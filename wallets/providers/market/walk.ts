/**
 * A seeded random walk with random access: each second always has the same value, and nothing is stored.
 *
 * The logarithm of a price has an independent value at every multiple of 2¹⁷ s (36 hours). Between two of them it is a
 * Brownian bridge, built by midpoint displacement: the middle of an interval is the mean of its ends plus a normal number of
 * half the interval's standard deviation, drawn by hash (Lévy's construction). Pure.
 */
import { simulatedHash } from '../simulated/simulated-keys.ts';

export interface Walk {
  readonly seed: string;
  readonly name: string;
  /** The central value of the walk, US dollars for one whole unit. */
  readonly base: number;
  /** Standard deviation of the logarithm from one multiple of 2¹⁷ s to the next. */
  readonly volatility: number;
}

const levels = 17;

/** US dollars at this second, with six significant digits. */
export function walkAt({ seed, name, base, volatility }: Walk, atMs: number): number {
  const second = Math.floor(atMs / 1_000);
  const span = 2 ** levels;
  const draw = (...words: readonly (string | number)[]): number => normal(seed, name, ...words.map(String));
  let from = Math.floor(second / span) * span;
  let length = span;
  let [start, end] = [from, from + span].map((at) => volatility * draw('anchor', at)) as [number, number];
  while (length > 1 && second !== from) {
    const half = length / 2;
    const middle =
      (start + end) / 2 + (volatility / 2) * Math.sqrt(length / span) * draw('middle', length, from + half);
    if (second >= from + half) {
      from += half;
      start = middle;
    } else {
      end = middle;
    }
    length = half;
  }
  return Number((base * Math.exp(start)).toPrecision(6));
}

/** About normal, mean 0 and variance 1: twelve uniform numbers of 16 bits (Irwin–Hall). */
function normal(...words: readonly string[]): number {
  const bytes = simulatedHash('walk', ...words);
  let sum = 0;
  for (let index = 0; index < 12; index += 1) sum += (bytes[2 * index]! * 256 + bytes[2 * index + 1]! + 0.5) / 65_536;
  return sum - 6;
}
