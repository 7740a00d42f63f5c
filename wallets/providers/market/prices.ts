/**
 * The simulated price source: a seeded walk for each asset of the registry, which a replay repeats, overridden by the
 * tenant's settings. It depends only on the supplied clock.
 */
import type { TenantStore } from '../../store/contract.ts';
import { type MarketConditions, marketConditionsId, marketConditionsType, noConditions } from './conditions.ts';
import type { PriceQuote, PriceSource } from './port.ts';
import { walkAt } from './walk.ts';

const walks: Readonly<Record<string, { readonly base: number; readonly volatility: number }>> = {
  ETH: { base: 3_000, volatility: 0.04 },
  USDC: { base: 1, volatility: 0.0002 },
  BTC: { base: 90_000, volatility: 0.03 },
  SOL: { base: 150, volatility: 0.06 },
};

/** Assets of the simulated price source. */
export const pricedAssets: readonly string[] = Object.keys(walks);

export interface SimulatedPrices extends PriceSource {
  conditions(tenant: string): Promise<MarketConditions>;
  quotesUnder(
    conditions: MarketConditions,
    assets: readonly string[],
    nowMs: number,
  ): readonly (PriceQuote | undefined)[];
}

/** `seed`: the same seed, the same prices at the same times. */
export function simulatedPrices(store: Pick<TenantStore, 'read'>, seed: string): SimulatedPrices {
  const conditions = async (tenant: string): Promise<MarketConditions> =>
    (await store.read(tenant, marketConditionsType, marketConditionsId)) ?? noConditions;
  const quotesUnder: SimulatedPrices['quotesUnder'] = ({ prices }, assets, nowMs) =>
    assets.map((asset) => quoteOf(seed, asset, prices, nowMs));
  return {
    conditions,
    quotesUnder,
    quotes: async (tenant, assets, nowMs) => quotesUnder(await conditions(tenant), assets, nowMs),
  };
}

function quoteOf(
  seed: string,
  asset: string,
  prices: MarketConditions['prices'],
  nowMs: number,
): PriceQuote | undefined {
  const condition = Object.hasOwn(prices, asset) ? prices[asset] : undefined;
  if (condition?.kind === 'set') return { asset, price: BigInt(condition.price), asOfMs: nowMs };
  const walk = Object.hasOwn(walks, asset) ? walks[asset] : undefined;
  if (condition?.kind === 'missing' || walk === undefined) return undefined;
  const asOfMs = Math.floor((nowMs - (condition?.ageMs ?? 0)) / 1_000) * 1_000;
  const usd = walkAt({ seed, name: asset, ...walk }, asOfMs);
  return { asset, price: BigInt(Math.round(usd * 1e8)), asOfMs };
}
