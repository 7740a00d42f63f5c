/** The constant fees and initial balances of the simulated world. */
import { expect, it } from 'vitest';
import { networkFee, openingBalances } from '../../../wallets/providers/simulated/economy.ts';

it('a transfer costs the fee of its network, in its coin; a token of an EVM network costs more gas', () => {
  expect(networkFee('ETH')).toEqual({ asset: 'ETH', units: 42_000_000_000_000n });
  expect(networkFee('USDC')).toEqual({ asset: 'ETH', units: 130_000_000_000_000n });
  expect(networkFee('BTC')).toEqual({ asset: 'BTC', units: 282n });
  expect(networkFee('SOL')).toEqual({ asset: 'SOL', units: 5_000n });
  expect(() => networkFee('NOPE')).toThrow('asset NOPE is not registered');
});

it('a sandbox wallet begins with test money of each asset of its network, a production wallet with none', () => {
  const network = 'eip155:11155111';
  expect(openingBalances(network, 'sandbox')).toEqual([
    { asset: 'ETH', units: 10n ** 19n },
    { asset: 'USDC', units: 10n ** 10n },
  ]);
  expect(openingBalances('bip122:000000000933ea01ad0ee984209779ba', 'sandbox')).toEqual([
    { asset: 'BTC', units: 10n ** 8n },
  ]);
  expect(openingBalances('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'sandbox')).toEqual([
    { asset: 'SOL', units: 10n ** 11n },
  ]);
  expect(openingBalances(network, 'production').map(({ units }) => units)).toEqual([0n, 0n]);
});
