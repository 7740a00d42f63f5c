/** The supply of a token, amounts in other decimals, and the states of an order. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type OwnTokenRecord, supplyOf } from '../../../../wallets/companions/tokens/record.ts';
import { scaledUp } from '../../../../wallets/companions/tokens/reserve.ts';
import { isFinal, mayFollow, orderStatuses } from '../../../../wallets/companions/tokens/states.ts';
import type { Balances } from '../../../../wallets/store/contract.ts';

it('a supply is what the cap, the rest and what is being minted leave, and never below zero', () => {
  const token = (status: string) => ({ id: 'tkn_1', symbol: 'GOLD', status, supplyCap: '100' }) as OwnTokenRecord;
  const account = (available: bigint, reserved: bigint): Balances => new Map([['GOLD', { available, reserved }]]);
  for (const status of ['deploying', 'failed']) {
    expect(supplyOf(token(status), account(1n, 1n))).toEqual({ left: 100n, minting: 0n, circulating: 0n });
  }
  expect(supplyOf(token('active'), account(60n, 15n))).toEqual({ left: 60n, minting: 15n, circulating: 25n });
  expect(supplyOf(token('active'), account(85n, 15n))).toMatchObject({ circulating: 0n });
  expect(supplyOf(token('active'), new Map())).toEqual({ left: 0n, minting: 0n, circulating: 100n });
  expect(() => supplyOf(token('active'), account(86n, 15n))).toThrow('below zero');
});

it('an amount in other decimals is rounded up', () => {
  const decimals = fc.integer({ min: 0, max: 18 });
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), decimals, decimals, (units, from, to) => {
      const scaled = scaledUp(units, from, to);
      const [whole, asked] = [10n ** BigInt(to), 10n ** BigInt(from)];
      expect(scaled * asked >= units * whole).toBe(true);
      expect((scaled - 1n) * asked < units * whole).toBe(true);
    }),
  );
  expect([scaledUp(1n, 6, 2), scaledUp(10_000n, 6, 2), scaledUp(10_001n, 6, 2)]).toEqual([1n, 1n, 2n]);
});

it('an order ends in three states, and goes through no other than the check of its reserve to the chain', () => {
  expect(orderStatuses.filter(isFinal)).toEqual(['completed', 'rejected', 'failed']);
  expect(orderStatuses.filter((from) => mayFollow(from, 'processing'))).toEqual(['reserve_check']);
  expect(orderStatuses.filter((from) => mayFollow(from, 'completed'))).toEqual(['processing']);
  expect(orderStatuses.filter((from) => mayFollow(from, 'rejected'))).toEqual([
    'created',
    'pending_approval',
    'reserve_check',
  ]);
});
