/** Wallets as they are shown: whatever the balances, the numbers add up and keep every digit. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { balancesOf, initialLedger, walletFrom } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { walletView } from '../../../../wallets/custody/wallets/view.ts';
import { parseAmount } from '../../../../wallets/networks/amounts.ts';
import { assetOf, assets } from '../../../../wallets/networks/assets.ts';
import { evm, fresh } from './support/world.ts';

const symbols = assets.map(({ symbol }) => symbol);

function walletHolding(held: readonly string[]) {
  return walletFrom({
    id: fresh('wal'),
    name: 'w',
    connection: { id: fresh('pcn'), provider: 'sandbox', environment: 'sandbox' },
    network: evm,
    made: {
      providerWalletId: 'p',
      addresses: [{ network: evm, address: 'a' }],
      publicKey: null,
      balances: held.map((asset) => ({ asset, units: 0n })),
    },
    nowMs: 0,
    signingApi: 'allowed',
  });
}

function unitsOf(text: string, symbol: string): bigint {
  const { decimals } = assetOf(symbol)!;
  const units = parseAmount(text, decimals);
  if (units === 'must_be_positive') return 0n;
  if (typeof units === 'string') throw new Error(`${text}: ${units}`);
  return units;
}

test('balance is available and pending together, exact to the smallest unit', () => {
  const units = fc.bigInt({ min: 0n, max: 10n ** 27n });
  const balance = fc.record({ available: units, reserved: fc.oneof(fc.constant(0n), units) });
  fc.assert(
    fc.property(fc.constantFrom(...symbols), balance, (symbol, { available, reserved }) => {
      const { assets: shown } = walletView(walletHolding([symbol]), new Map([[symbol, { available, reserved }]]));
      expect(shown).toHaveLength(1);
      expect(unitsOf(shown[0]!.available, symbol)).toBe(available);
      expect(unitsOf(shown[0]!.pending, symbol)).toBe(reserved);
      expect(unitsOf(shown[0]!.balance, symbol)).toBe(available + reserved);
      expect(shown[0]!.network).toBe(assetOf(symbol)!.network);
    }),
  );
});

test('assets keep their order; what holds nothing is shown with zeros and has no entry in the ledger', () => {
  const wallet = walletHolding(['USDC', 'ETH']);
  const balances = [
    { asset: 'USDC', units: 0n },
    { asset: 'ETH', units: 5n },
  ];
  const { assets: shown } = walletView(wallet, balancesOf(balances));
  expect(shown.map(({ symbol, balance }) => [symbol, balance])).toEqual([
    ['USDC', '0'],
    ['ETH', '0.000000000000000005'],
  ]);
  expect(initialLedger(wallet.id, balances)).toMatchObject([
    { walletId: wallet.id, asset: 'ETH', available: 5n, reserved: 0n, movement: { kind: 'opening' } },
  ]);
});

test('an unregistered asset is our own mistake', () => {
  expect(() => walletView(walletHolding(['DOGE']), new Map())).toThrow('DOGE');
});
