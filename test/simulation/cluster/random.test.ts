/** Labelled streams: repeatable, independent of each other, and even. */
import { expect, test } from 'vitest';
import { randomStream } from '../../../simulation/cluster/random.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('the same seed and label give the same bytes; another of either gives others', () => {
  const first = hex(randomStream('seed', 'label')(64));
  expect(hex(randomStream('seed', 'label')(64))).toBe(first);
  for (const [seed, label] of [
    ['seed', 'other'],
    ['other', 'label'],
    ['seedlabel', ''],
  ] as const) {
    expect(hex(randomStream(seed, label)(64))).not.toBe(first);
  }
});

test('gives what is asked for, and continues from there', () => {
  const stream = randomStream('seed', 'lengths');
  const seen = new Set<string>();
  for (let length = 8; length < 100; length += 1) {
    const bytes = stream(length);
    expect(bytes).toHaveLength(length);
    seen.add(hex(bytes.subarray(0, 8)));
  }
  expect(seen.size).toBe(92);
  expect(stream(0)).toHaveLength(0);
});

test('every byte comes about equally often', () => {
  const counts = new Array<number>(256).fill(0);
  for (const byte of randomStream('seed', 'even')(256_000)) counts[byte]! += 1;
  // A thousand expected, a deviation of 32: six of them is far out.
  expect(Math.min(...counts)).toBeGreaterThan(800);
  expect(Math.max(...counts)).toBeLessThan(1200);
});
