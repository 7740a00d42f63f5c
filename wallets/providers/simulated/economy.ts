/**
 * Money in the simulated world: the initial balance of a wallet, and the cost of a transfer. The control plane's ledger and a
 * custodian's own book (custodian-book.ts) both begin with it, and then change independently.
 */

import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { assetOf, assetsOn } from '../../networks/assets.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import type { NewBalance } from '../port/port.ts';

/** Smallest units by asset: 10 ETH, 10,000 USDC, 1 BTC, 100 SOL. */
const sandboxFunds: Readonly<Record<string, bigint>> = {
  ETH: 10n * 10n ** 18n,
  USDC: 10_000n * 10n ** 6n,
  BTC: 10n ** 8n,
  SOL: 100n * 10n ** 9n,
};

/** A sandbox wallet begins with test money, a production wallet with nothing. Every asset of the network is listed. */
export function openingBalances(network: NetworkId, environment: ClusterEnvironment): NewBalance[] {
  return assetsOn(network).map(({ symbol }) => ({
    asset: symbol,
    units: environment === 'sandbox' ? (sandboxFunds[symbol] ?? 0n) : 0n,
  }));
}

const gasPriceWei = 2_000_000_000n;
const nativeGas = 21_000n;
const tokenGas = 65_000n;
/** A transaction with one input and two outputs, P2WPKH: 141 virtual bytes at 2 satoshi. */
const bitcoinFee = 282n;
/** One signature: https://solana.com/docs/core/fees */
const solanaFee = 5_000n;

/** The fee in the network's own coin, constant for each asset. */
export function networkFee(symbol: string): NewBalance {
  const asset = assetOf(symbol);
  if (asset === undefined) throw new Error(`asset ${symbol} is not registered`);
  const { family, nativeAsset } = networkOf(asset.network);
  switch (family) {
    case 'evm':
      return { asset: nativeAsset, units: gasPriceWei * (asset.contract === null ? nativeGas : tokenGas) };
    case 'bitcoin':
      return { asset: nativeAsset, units: bitcoinFee };
    case 'solana':
      return { asset: nativeAsset, units: solanaFee };
  }
}
