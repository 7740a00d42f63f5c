/** Inverses modulo a group order, against the definition. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { groupOf } from '../../../core/crypto/group.ts';
import { invert, modulo } from '../../../core/crypto/scalar.ts';
import { runs } from '../../support/thorough.ts';

const orders = { secp256k1: groupOf('secp256k1').order, ed25519: groupOf('ed25519').order } as const;

function expectInverse(value: bigint, order: bigint): void {
  const inverse = invert(value, order);
  expect(inverse > 0n && inverse < order).toBe(true);
  expect(modulo(inverse * value, order), `the inverse of ${value}`).toBe(1n);
}

describe.each(Object.entries(orders))('inverses modulo the order of %s', (_curve, order) => {
  test('of random scalars, of any length', () => {
    for (let count = runs(2_000, 200_000); count > 0; count -= 1) {
      const bytes = randomBytes(1 + (count % 32));
      const value = modulo(BigInt(`0x${bytes.toString('hex')}`), order);
      if (value !== 0n) expectInverse(value, order);
    }
  });

  test('of small, large and negative ones, of powers of two, and of neighbours of quotients of the order', () => {
    for (let small = 1n; small <= 64n; small += 1n) {
      for (const value of [small, order - small, -small]) expectInverse(value, order);
      for (const near of [-1n, 0n, 1n]) if (order / small + near < order) expectInverse(order / small + near, order);
    }
    for (let power = 1n; power < order; power *= 2n) {
      for (const value of [power - 1n, power, power + 1n]) if (value > 0n) expectInverse(value, order);
    }
  });

  test('zero has none', () => {
    for (const zero of [0n, order, -order]) expect(() => invert(zero, order)).toThrow('zero has no inverse');
  });
});
