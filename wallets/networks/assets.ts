/** The assets of the registry, one line each. A symbol names one asset on one network. */
import type { NetworkId } from './networks.ts';

export interface Asset {
  readonly symbol: string;
  readonly network: NetworkId;
  /** Digits after the decimal point. */
  readonly decimals: number;
  /** EVM: the ERC-20 contract; null for a network's own coin. */
  readonly contract: string | null;
}

/** A tenant's own token: a contract on an EVM network, not in the registry of assets. */
export interface TokenTerms {
  readonly symbol: string;
  readonly name: string;
  readonly network: NetworkId;
  readonly decimals: number;
  /** EIP-55; null until it is deployed. */
  readonly contract: string | null;
  /** The highest permitted circulation: smallest units, a decimal integer. */
  readonly supplyCap: string;
}

/** A tenant's own token in the words of a policy receipt, which tie its symbol to its contract. */
export interface TokenClaim {
  readonly contract: string | null;
  readonly symbol: string;
  readonly name: string;
  readonly decimals: number;
  readonly supply_cap: string;
}

export function tokenClaim({ contract, symbol, name, decimals, supplyCap }: TokenTerms): TokenClaim {
  return { contract, symbol, name, decimals, supply_cap: supplyCap };
}

export function termsOfClaim({ supply_cap: supplyCap, ...claim }: TokenClaim, network: NetworkId): TokenTerms {
  return { ...claim, network, supplyCap };
}

/** Whether both are the same token, or none. */
export function isClaimOf(claim: TokenClaim | undefined, terms: TokenTerms | undefined): boolean {
  if (claim === undefined || terms === undefined) return claim === terms;
  return Object.entries(tokenClaim(terms)).every(([name, value]) => claim[name as keyof TokenClaim] === value);
}

export const assets: readonly Asset[] = [
  { symbol: 'ETH', network: 'eip155:11155111', decimals: 18, contract: null },
  {
    symbol: 'USDC',
    network: 'eip155:11155111',
    decimals: 6,
    contract: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
  },
  { symbol: 'BTC', network: 'bip122:000000000933ea01ad0ee984209779ba', decimals: 8, contract: null },
  { symbol: 'SOL', network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', decimals: 9, contract: null },
];

export function assetOf(symbol: string): Asset | undefined {
  return assets.find((asset) => asset.symbol === symbol);
}

export function assetsOn(network: NetworkId): readonly Asset[] {
  return assets.filter((asset) => asset.network === network);
}
