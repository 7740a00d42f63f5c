/** The assets of a wallet as the API and its events show them: balances as decimal strings. Pure. */
import { formatAmount } from '../networks/amounts.ts';
import type { NetworkId } from '../networks/networks.ts';
import type { Balance, Balances } from './contract.ts';

/** An asset, without any amount. */
export interface ShownAsset {
  readonly symbol: string;
  readonly network: NetworkId;
  readonly decimals: number;
  /** EVM: the token's contract; null for a network's own coin. */
  readonly contract: string | null;
}

export interface AssetView {
  readonly symbol: string;
  /** The wallet's whole balance: available and pending. */
  readonly balance: string;
  /** The amount that a new transfer may use. */
  readonly available: string;
  /** Reserved for transfers in progress. */
  readonly pending: string;
  readonly network: NetworkId;
  readonly decimals: number;
  readonly contract: string | null;
}

/** Shows assets without a balance as zeros. */
export function assetViews(assets: readonly ShownAsset[], balances: Balances): readonly AssetView[] {
  return assets.map((asset) => assetView(asset, balances.get(asset.symbol)));
}

/** The same view of a wallet with these balances. */
export function withBalances<V extends { readonly assets: readonly AssetView[] }>(view: V, balances: Balances): V {
  return { ...view, assets: assetViews(view.assets, balances) };
}

function assetView(
  { symbol, network, decimals, contract }: ShownAsset,
  { available, reserved }: Balance = { available: 0n, reserved: 0n },
): AssetView {
  return {
    symbol,
    balance: formatAmount(available + reserved, decimals),
    available: formatAmount(available, decimals),
    pending: formatAmount(reserved, decimals),
    network,
    decimals,
    contract,
  };
}
