/** The map of entries that come and go: what Map does, and ended entries that are no burden to the garbage collector. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { ShortLivedMap } from '../../../core/actors/short-lived-map.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' | 'major' }) => void;

interface Churned {
  set(key: number, value: object): unknown;
  delete(key: number): boolean;
}

/**
 * The bytes by which the heap has grown when 5,000 entries of some 2 KB have come and gone, 64 at a time, without a full
 * collection since the first ones.
 */
function grownBy(map: Churned): number {
  let last = 0;
  const begin = (): void => {
    last += 1;
    map.set(
      last,
      Array.from({ length: 256 }, () => last),
    );
  };
  for (let count = 0; count < 64; count += 1) begin();
  // So the map's present table is an old object, as it is in a process that has run for a while.
  collect();
  const before = getHeapStatistics().used_heap_size;
  for (let round = 0; round < 50; round += 1) {
    for (let count = 0; count < 100; count += 1) {
      map.delete(last - 63);
      begin();
    }
    // What lives through two of them counts as old: here no entry does.
    collect({ type: 'minor' });
  }
  return getHeapStatistics().used_heap_size - before;
}

describe('the map of short-lived entries', () => {
  test('gives, replaces and deletes values, and iterates in the order of the first set', () => {
    const map = new ShortLivedMap<string, number | undefined>();
    map.set('a', 1);
    map.set('b', 2);
    map.set('c', undefined);
    map.set('a', 4);
    expect(map.delete('b')).toBe(true);
    expect(map.delete('b')).toBe(false);
    map.set('b', 5);
    expect([...map]).toEqual([
      ['a', 4],
      ['c', undefined],
      ['b', 5],
    ]);
    expect([...map.keys()]).toEqual(['a', 'c', 'b']);
    expect([...map.values()]).toEqual([4, undefined, 5]);
    expect([map.get('a'), map.get('d'), map.has('c'), map.has('d'), map.size]).toEqual([4, undefined, true, false, 3]);
  });

  test('an iteration skips entries that are deleted meanwhile, and reaches those that are set', () => {
    const map = new ShortLivedMap<number, string>();
    for (const key of [1, 2, 3]) map.set(key, `value ${key}`);
    const seen: number[] = [];
    for (const [key] of map) {
      seen.push(key);
      map.delete(key);
      if (key === 1) {
        map.delete(2);
        map.set(4, 'value 4');
      }
    }
    expect(seen).toEqual([1, 3, 4]);
    expect(map.size).toBe(0);
  });

  test('what was deleted does not outlive the next collections of young objects, as it does in a Map', () => {
    const [ours, plain] = [grownBy(new ShortLivedMap<number, object>()), grownBy(new Map<number, object>())];
    expect(ours).toBeLessThan(2_000_000);
    // If a version of V8 has no such chains, ShortLivedMap has no reason left.
    expect(plain).toBeGreaterThan(4 * Math.max(ours, 1_000_000));
  });
});
