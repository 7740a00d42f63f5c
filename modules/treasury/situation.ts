/** From a strategy and the world as it is to a plan: what its wallets can spend, what that is worth, and the trades. */

import { ServiceError } from '../../api/errors/service-error.ts';
import type { RequestContext } from '../../api/route.ts';
import { type WalletRecord, walletType } from '../../custody/wallets/public.ts';
import { assetOf } from '../../networks/assets.ts';
import type { PriceQuote, PriceSource, Venue } from '../../providers/market/public.ts';
import { networkFee } from '../../providers/simulated/economy.ts';
import type { Balances } from '../../store/contract.ts';
import { pricedAsset } from './amounts.ts';
import type { PlanPosition, PlanRecord, TradeRecord } from './plan-record.ts';
import type { PlanInput, PlannedTrades, Trade } from './planner.ts';
import { type StrategyRecord, type StrategyTerms, termsOf } from './strategy-record.ts';
import { bpsAll, type Holding, type Positions, positionsOf } from './valuation.ts';

export interface PlanningDeps {
  readonly prices: PriceSource;
  readonly venue: Venue;
}

/** What a plan is made from, as it is now. */
export interface Situation {
  readonly holdings: readonly Holding[];
  readonly quotes: readonly PriceQuote[];
  readonly input: PlanInput;
}

/** Throws ServiceError 409 when a price is missing or too old: no plan is made on a guess. */
export async function situationOf(
  { prices, venue }: PlanningDeps,
  context: RequestContext,
  terms: StrategyTerms,
): Promise<Situation> {
  const { tenant, store, nowMs } = context;
  const found = await Promise.all(terms.walletIds.map((id) => store.readWithBalances(tenant, walletType, id)));
  const wallets = found.flatMap((each) => (each?.record.status === 'active' ? [each] : []));
  const assets = terms.targets.map(({ asset }) => asset);
  const fees = [...new Set(assets.map((asset) => networkFee(asset).asset))].filter((asset) => !assets.includes(asset));
  const holdings = wallets.flatMap(({ record, balances }) => spendable(record, balances, [...assets, ...fees]));
  const quotes = (await prices.quotes(tenant, assets, nowMs)).map((quote, index) =>
    usableQuote(quote, assets[index]!, terms, nowMs),
  );
  const { constraints } = terms;
  const floor = constraints.cashFloor;
  const input: PlanInput = {
    targets: terms.targets,
    holdings,
    priced: new Map(quotes.map(({ asset, price }) => [asset, pricedAsset(asset, price)])),
    constraints: {
      minTradeValue: BigInt(constraints.minTradeValue),
      maxTradeValue: constraints.maxTradeValue === null ? undefined : BigInt(constraints.maxTradeValue),
      maxTrades: constraints.maxTrades,
      maxCostBps: constraints.maxCostBps,
      cashFloor: floor === null ? undefined : { asset: floor.asset, units: BigInt(floor.units) },
    },
    costs: { venueFeeBps: venue.terms.feeBps, slippageBps: venue.terms.slippageBps, networkFee },
    walletFor: (asset) => wallets.find(({ record }) => record.network === assetOf(asset)?.network)?.record.id,
  };
  return { holdings, quotes, input };
}

function spendable(wallet: WalletRecord, balances: Balances, assets: readonly string[]): Holding[] {
  return assets
    .filter((asset) => assetOf(asset)?.network === wallet.network)
    .map((asset) => ({ walletId: wallet.id, asset, units: balances.get(asset)?.available ?? 0n }));
}

function usableQuote(
  quote: PriceQuote | undefined,
  asset: string,
  { constraints }: StrategyTerms,
  nowMs: number,
): PriceQuote {
  if (quote === undefined) throw noPrice(asset, 'price_missing', `there is no price of ${asset}`);
  if (nowMs - quote.asOfMs <= constraints.priceAgeMaxS * 1_000) return quote;
  const since = new Date(quote.asOfMs).toISOString();
  throw noPrice(asset, 'price_stale', `the price of ${asset} is of ${since}: older than ${constraints.priceAgeMaxS} s`);
}

function noPrice(asset: string, issue: string, message: string): ServiceError {
  return new ServiceError('conflict', message, { details: [{ field: `prices.${asset}`, issue, message }] });
}

/** Of a strategy as it is now. Throws as `situationOf`. */
export function positionsNow(terms: StrategyTerms, { input }: Situation): Positions {
  return positionsOf(terms.targets, input.holdings, input.priced, input.constraints.cashFloor);
}

export function isCooling(strategy: StrategyRecord, nowMs: number): boolean {
  const { lastExecutedAtMs } = strategy;
  return lastExecutedAtMs !== null && nowMs < lastExecutedAtMs + termsOf(strategy).constraints.cooldownS * 1_000;
}

export type NewPlan = Pick<PlanRecord, 'id' | 'origin' | 'rationale' | 'asker'>;

/** Without trades while the strategy cools down. */
export function planFrom(
  strategy: StrategyRecord,
  { holdings, quotes }: Situation,
  { before, trades, skipped }: PlannedTrades,
  order: NewPlan,
  nowMs: number,
): PlanRecord {
  const terms = termsOf(strategy);
  const withheld = isCooling(strategy, nowMs) && trades.length > 0 ? 'cooldown' : null;
  return {
    ...order,
    version: 1,
    strategyId: strategy.id,
    strategyVersion: terms.strategyVersion,
    status: 'proposed',
    executor: null,
    prices: quotes.map(({ asset, price, asOfMs }) => ({ asset, price: String(price), asOfMs })),
    holdings: holdings.map(({ units, ...holding }) => ({ ...holding, units: String(units) })),
    positions: before.positions.map(planPosition),
    totalValue: String(before.totalValue),
    trades: withheld === null ? trades.map((trade) => tradeFrom(trade, terms)) : [],
    skipped,
    withheld,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: nowMs + terms.constraints.planTtlS * 1_000,
  };
}

export function planPosition(position: Positions['positions'][number]): PlanPosition {
  const { asset, units, value, weightBps, driftBps, inBand, target } = position;
  const { weightBps: targetBps, bandBps } = target;
  return { asset, units: String(units), value: String(value), weightBps, targetBps, driftBps, bandBps, inBand };
}

function tradeFrom({ sell, buy, value, cost, bound }: Trade, { constraints }: StrategyTerms): TradeRecord {
  // The price may move against the trade as far as a plan stays good.
  const unitsMin = (buy.units * (bpsAll - BigInt(constraints.priceToleranceBps))) / bpsAll;
  return {
    sell: { ...sell, units: String(sell.units) },
    buy: { ...buy, units: String(buy.units), unitsMin: String(unitsMin) },
    value: String(value),
    cost: String(cost),
    bound,
    status: 'planned',
    reason: null,
    intentIds: [],
    soldUnits: null,
    boughtUnits: null,
    refusal: null,
  };
}

export interface Staleness {
  readonly field: string;
  readonly issue: 'expired' | 'price_moved' | 'price_missing' | 'balance_moved' | 'strategy_changed';
  readonly message: string;
}

/** What has moved since the plan was made; empty: it is as good as new. */
export async function stalenessOf(
  { prices }: PlanningDeps,
  context: RequestContext,
  strategy: StrategyRecord,
  plan: PlanRecord,
): Promise<readonly Staleness[]> {
  const { tenant, store, nowMs } = context;
  const terms = termsOf(strategy);
  const stale: Staleness[] = [];
  if (nowMs >= plan.expiresAtMs) {
    stale.push({ field: 'expires_at', issue: 'expired', message: 'the plan has expired: ask for another one' });
  }
  if (terms.strategyVersion !== plan.strategyVersion || strategy.status !== 'active') {
    stale.push({ field: 'strategy_id', issue: 'strategy_changed', message: 'the strategy has changed since' });
  }
  const now = await prices.quotes(
    tenant,
    plan.prices.map(({ asset }) => asset),
    nowMs,
  );
  for (const [index, { asset, price }] of plan.prices.entries()) {
    const quote = now[index];
    if (quote === undefined) {
      stale.push({ field: `prices.${asset}`, issue: 'price_missing', message: `there is no price of ${asset}` });
    } else if (movedBps(BigInt(price), quote.price) > BigInt(terms.constraints.priceToleranceBps)) {
      stale.push({
        field: `prices.${asset}`,
        issue: 'price_moved',
        message: `the price of ${asset} has moved by more than ${terms.constraints.priceToleranceBps} bps`,
      });
    }
  }
  const walletIds = [...new Set(plan.holdings.map(({ walletId }) => walletId))];
  const found = await Promise.all(walletIds.map((id) => store.readWithBalances(tenant, walletType, id)));
  for (const { walletId, asset, units } of plan.holdings) {
    const wallet = found[walletIds.indexOf(walletId)];
    const available = wallet?.record.status === 'active' ? (wallet.balances.get(asset)?.available ?? 0n) : 0n;
    if (available !== BigInt(units)) {
      stale.push({
        field: `balances.${walletId}.${asset}`,
        issue: 'balance_moved',
        message: `what ${walletId} can spend of ${asset} is not what it was`,
      });
    }
  }
  return stale;
}

/** Rounded up, so that any move beyond the tolerance counts. */
function movedBps(before: bigint, now: bigint): bigint {
  const moved = now > before ? now - before : before - now;
  return (moved * bpsAll + before - 1n) / before;
}
