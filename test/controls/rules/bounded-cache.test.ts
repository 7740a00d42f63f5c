/** The cache of what a process made: bounded, and the least lately used goes first. */
import { describe, expect, it } from 'vitest';
import { BoundedCache } from '../../../controls/rules/bounded-cache.ts';

describe('a bounded cache', () => {
  it('lets the least lately used go when there is too much', () => {
    const cache = new BoundedCache<number>(3);
    for (const key of [1, 2, 3]) cache.set(`k${key}`, key);
    expect(cache.get('k1')).toBe(1);
    cache.set('k4', 4);
    expect([cache.get('k1'), cache.get('k2'), cache.get('k3'), cache.get('k4')]).toEqual([1, undefined, 3, 4]);
  });

  it('counts by weight, also of what is set again, and keeps one value that is too heavy', () => {
    const cache = new BoundedCache<string>(10);
    cache.set('a', 'a', 4);
    cache.set('a', 'a2', 6);
    cache.set('b', 'b', 4);
    expect([cache.get('a'), cache.get('b'), cache.size]).toEqual(['a2', 'b', 2]);
    cache.set('heavy', 'heavy', 50);
    expect([cache.get('a'), cache.get('b'), cache.get('heavy')]).toEqual([undefined, undefined, 'heavy']);
    cache.set('c', 'c', 1);
    expect([cache.get('heavy'), cache.get('c')]).toEqual([undefined, 'c']);
  });
});
