import { describe, expect, it } from 'vitest';
import { BoundedMemo } from '../../../core/crypto/memo.ts';

describe('bounded memo', () => {
  it('never holds more than two generations', () => {
    const memo = new BoundedMemo<number, number>(10);
    for (let key = 0; key < 1000; key++) {
      memo.set(key, key);
      expect(memo.size).toBeLessThanOrEqual(20);
    }
    expect(memo.get(999)).toBe(999);
    expect(memo.get(0)).toBeUndefined();
  });

  it('keeps an entry that is asked for', () => {
    const memo = new BoundedMemo<string, string>(10);
    memo.set('used', 'still here');
    for (let key = 0; key < 1000; key++) {
      memo.set(`other ${key}`, '');
      expect(memo.get('used')).toBe('still here');
    }
  });
});
