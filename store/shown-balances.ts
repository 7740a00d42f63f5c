/** The assets of a wallet as the API and its events show them: balances as decimal strings. Pure. */
import { formatAmount } from '../networks/amounts.ts';
import type { NetworkId } from '../networks/networks.ts';
import type { Balance, Balances } from './contract.ts';

/** What an asset is, whatever is held of it. */
export interface ShownAsset {
  readonly symbol: string;
  readonly network: NetworkId;
  readonly decimals: number;
  /** EVM: the token's contract; null for a network's own coin. */
  readonly contract: string | null;
}

export interface AssetView {
  readonly symbol: string;
  /** What the wallet owns: available and pending. */
  readonly balance: string;
  /** What a new transfer may take. */
  readonly available: string;
  /** Set aside for transfers that are under way. */
  readonly pending: string;
  readonly network: NetworkId;
  readonly decimals: number;
  readonly contract: string | null;
}

/** Assets that hold nothing are shown with zeros. */
export function assetViews(assets: readonly ShownAsset[], balances: Balances): readonly AssetView[] {
  return assets.map((asset) => assetView(asset, balances.get(asset.symbol)));
}

/** The same wallet, as it is shown, with these balances. */
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
