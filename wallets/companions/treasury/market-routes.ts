/** A sandbox's market: the prices of the assets and the behaviour of the venue, for the caller's own tenant. */

import type { Static } from 'typebox';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { assetOf } from '../../networks/assets.ts';
import { needWholeTenant } from '../../policy/rules/tenant-wide.ts';
import {
  type MarketConditions,
  marketConditionsType,
  noConditions,
  type PriceCondition,
  pricedAssets,
  type SimulatedPrices,
  type Venue,
} from '../../providers/market/public.ts';
import { create, update } from '../../store/changes.ts';
import { badField, readUsd } from './amounts.ts';
import { Market, MarketBody } from './schemas.ts';
import { priceView } from './view.ts';

const shared = { tag: 'AI treasury', path: '/v1/sandbox/market' } as const;

export interface MarketDeps {
  readonly market: SimulatedPrices;
  readonly venue: Venue;
}

export function marketRoutes(deps: MarketDeps): readonly Route[] {
  return [getMarket(deps), setMarket(deps)];
}

const getMarket = (deps: MarketDeps) =>
  route({
    ...shared,
    method: 'GET',
    operationId: 'getMarket',
    clientName: 'sandbox.market',
    summary: 'Read prices and the venue’s behaviour',
    scope: 'treasury:read',
    responses: { 200: { schema: Market, description: 'as they are now' } },
    handle: async (context) => ({
      status: 200,
      body: marketView(deps, context, await deps.market.conditions(context.tenant)),
    }),
  });

const setMarket = (deps: MarketDeps) =>
  route({
    ...shared,
    method: 'POST',
    operationId: 'setMarket',
    clientName: 'sandbox.setMarket',
    example: { prices: [{ asset: 'ETH', price_usd: '3000' }], venue: { mode: 'normal' } },
    summary: 'Set prices, or the venue’s behaviour',
    description: 'Applies only to this tenant, in a sandbox. Omitted values do not change.',
    scope: 'treasury:write',
    body: MarketBody,
    responses: { 200: { schema: Market, description: 'as they are then' } },
    errors: [409],
    handle: async (context, { body }) => {
      needWholeTenant(context.principal);
      const before = await deps.market.conditions(context.tenant);
      const { venue } = body;
      const after: MarketConditions = {
        ...before,
        version: before.version + 1,
        prices: withPrices(before.prices, body.prices ?? []),
        venue: {
          mode: venue?.mode ?? before.venue.mode,
          fillBps: venue?.fill_bps ?? before.venue.fillBps,
          slippageBps: venue?.slippage_bps === undefined ? before.venue.slippageBps : venue.slippage_bps,
        },
      };
      const put =
        before.version === noConditions.version
          ? create(marketConditionsType, after)
          : update(marketConditionsType, before, after);
      return { status: 200, body: marketView(deps, context, after), change: { puts: [put] } };
    },
  });

type PriceSettings = NonNullable<Static<typeof MarketBody>['prices']>;

function withPrices(before: MarketConditions['prices'], settings: PriceSettings): MarketConditions['prices'] {
  const prices = new Map(Object.entries(before));
  for (const [index, { asset, price_usd: price, condition, stale_s: staleS }] of settings.entries()) {
    const field = `prices[${index}]`;
    if (assetOf(asset) === undefined) throw badField(`${field}.asset`, 'unknown_asset', 'takes a registered asset');
    if ((price === undefined) === (condition === undefined)) {
      throw badField(field, 'missing_required', 'takes either price_usd or condition');
    }
    const next = price === undefined ? conditionOf(condition!, staleS) : setPrice(`${field}.price_usd`, price);
    if (next === undefined) prices.delete(asset);
    else prices.set(asset, next);
  }
  return Object.fromEntries(prices);
}

function setPrice(field: string, text: string): PriceCondition {
  return { kind: 'set', price: String(readUsd(field, text)) };
}

function conditionOf(condition: 'simulated' | 'missing' | 'stale', staleS = 3_600): PriceCondition | undefined {
  if (condition === 'simulated') return undefined;
  return condition === 'missing' ? { kind: 'missing' } : { kind: 'stale', ageMs: staleS * 1_000 };
}

function marketView({ market, venue }: MarketDeps, { nowMs }: RequestContext, conditions: MarketConditions): object {
  const assets = [...new Set([...pricedAssets, ...Object.keys(conditions.prices)])].sort();
  const quotes = market.quotesUnder(conditions, assets, nowMs);
  const { feeBps, slippageBps } = venue.terms;
  return {
    prices: assets.map((asset, index) => {
      const quote = quotes[index];
      const { price_usd = null, as_of = null } = quote === undefined ? {} : priceView(quote);
      return { asset, condition: conditions.prices[asset]?.kind ?? 'simulated', price_usd, as_of };
    }),
    venue: {
      mode: conditions.venue.mode,
      fill_bps: conditions.venue.fillBps,
      slippage_bps: conditions.venue.slippageBps,
      fee_bps: feeBps,
      expected_slippage_bps: slippageBps,
    },
  };
}
