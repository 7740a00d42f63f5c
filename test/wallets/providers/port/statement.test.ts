/** What a movement of a statement takes from a wallet or adds to it, and the keys of movements. */
import { expect, test } from 'vitest';
import {
  effectOf,
  exchangeKey,
  type Movement,
  movementName,
  placeOf,
  readExchangeKey,
  readPlace,
} from '../../../../wallets/providers/port/statement.ts';

const movement: Movement = {
  ...{ id: 'm', key: 'txi_1', direction: 'out', reference: 'txi_1', txId: null, asset: 'USDC', units: 50n },
  ...{ fee: { asset: 'ETH', units: 3n }, counterparty: null, state: 'completed', providerStatus: 'DONE' },
  ...{ bookedAtMs: 10, settledAtMs: 20, hasMoved: true },
};
const effect = (over: Partial<Movement>) =>
  Object.fromEntries(effectOf({ ...movement, ...over }).map(({ asset, units }) => [asset, units]));

test('an outgoing movement takes its units and its fee, an incoming one adds its units', () => {
  expect(effect({})).toEqual({ USDC: -50n, ETH: -3n });
  expect(effect({ direction: 'in', fee: { asset: 'ETH', units: 0n } })).toEqual({ USDC: 50n, ETH: 0n });
});

test('one that is pending has taken nothing yet; one that failed has cost its fee', () => {
  expect(effect({ state: 'pending', settledAtMs: null, hasMoved: false })).toEqual({ ETH: 0n });
  expect(effect({ state: 'failed', hasMoved: false })).toEqual({ ETH: -3n });
});

test('a chain moves the units before the movement is final, and its fee when it is', () => {
  expect(effect({ state: 'pending', settledAtMs: null })).toEqual({ USDC: -50n, ETH: 0n });
});

test('names, places and keys are read as they were written', () => {
  expect(movementName(movement)).toBe('out:txi_1');
  expect(readPlace(placeOf(movement))).toEqual({ atMs: 10, name: 'out:txi_1' });
  expect(readExchangeKey(exchangeKey('plan/1', 'ETH'))).toEqual({ exchangeId: 'plan/1', asset: 'ETH' });
  for (const other of ['txi_1', 'exchange/1', 'other/1/ETH']) expect(readExchangeKey(other)).toBeUndefined();
});
