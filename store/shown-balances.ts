/** The assets of a wallet as the API and its events show them: balances as decimal strings. Pure. */
import { formatAmount } from '../networks/amounts.ts';
import { assetOf } from '../networks/assets.ts';
import type { NetworkId } from '../networks/networks.ts';
import type { Balance, Balances } from './contract.ts';

export interface AssetView {
  readonly symbol: string;
  /** What the wallet owns: available and pending. */
  readonly balance: string;
  /** What a new transfer may take. */
  readonly available: string;
  /** Set aside for transfers that are under way. */
  readonly pending: string;
  readonly network: NetworkId;
}

/** Assets that hold nothing are shown with zeros. */
export function assetViews(symbols: readonly string[], balances: Balances): readonly AssetView[] {
  return symbols.map((symbol) => assetView(symbol, balances.get(symbol)));
}

/** The same wallet, as it is shown, with these balances. */
export function withBalances<V extends { readonly assets: readonly AssetView[] }>(view: V, balances: Balances): V {
  const symbols = view.assets.map(({ symbol }) => symbol);
  return { ...view, assets: assetViews(symbols, balances) };
}

function assetView(symbol: string, balance: Balance | undefined): AssetView {
  const asset = assetOf(symbol);
  if (asset === undefined) throw new Error(`asset ${symbol} is not registered`);
  const { network, decimals } = asset;
  if (balance === undefined) return { symbol, balance: '0', available: '0', pending: '0', network };
  const available = formatAmount(balance.available, decimals);
  if (balance.reserved === 0n) return { symbol, balance: available, available, pending: '0', network };
  return {
    symbol,
    balance: formatAmount(balance.available + balance.reserved, decimals),
    available,
    pending: formatAmount(balance.reserved, decimals),
    network,
  };
}
