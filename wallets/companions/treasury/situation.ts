/** Computes a plan from a strategy and the present state: the spendable balances, their value, and the trades. */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import { adapterOf, metaOf } from '../../custody/provider-calls/calling.ts';
import { askingProvider } from '../../custody/provider-calls/refusals.ts';
import { type WalletRecord, walletType } from '../../custody/wallets/public.ts';
import { assetOf } from '../../networks/assets.ts';
import { networkOf } from '../../networks/networks.ts';
import type { PriceQuote, PriceSource, Venue } from '../../providers/market/public.ts';
import { type ProviderAdapter, type ProviderKind, ProviderRejected } from '../../providers/port/port.ts';
import type { Balances } from '../../store/contract.ts';
import { pricedAsset, unitsText } from './amounts.ts';
import type { PlanPosition, PlanRecord, TradeRecord } from './plan-record.ts';
import type { NetworkFee, PlanInput, PlannedTrades, Trade } from './planner.ts';
import { type StrategyRecord, type StrategyTerms, termsOf } from './strategy-record.ts';
import { bpsAll, type Holding, type Positions, positionsOf } from './valuation.ts';

export interface PlanningDeps {
  readonly prices: PriceSource;
  readonly venue: Venue;
  readonly adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
}

/** The spendable balances of a strategy's wallets, and their value. */
export interface Situation {
  readonly wallets: readonly WalletRecord[];
  /** Also coins that only pay fees. */
  readonly holdings: readonly Holding[];
  readonly quotes: readonly PriceQuote[];
}

/** Throws ServiceError 409 when a price is missing or too old: no value rests on a guess. */
export async function situationOf(
  { prices }: Pick<PlanningDeps, 'prices'>,
  context: RequestContext,
  terms: StrategyTerms,
): Promise<Situation> {
  const { tenant, store, nowMs } = context;
  const found = await Promise.all(terms.walletIds.map((id) => store.readWithBalances(tenant, walletType, id)));
  const active = found.flatMap((each) => (each?.record.status === 'active' ? [each] : []));
  const assets = terms.targets.map(({ asset }) => asset);
  const coins = assets.map((asset) => networkOf(assetOf(asset)!.network).nativeAsset);
  const held = [...new Set([...assets, ...coins])];
  const quotes = (await prices.quotes(tenant, assets, nowMs)).map((quote, index) =>
    usableQuote(quote, assets[index]!, terms, nowMs),
  );
  return {
    wallets: active.map(({ record }) => record),
    holdings: active.flatMap(({ record, balances }) => spendable(record, balances, held)),
    quotes,
  };
}

/**
 * The inputs of a plan, with the providers' quotes for transfers out of the wallets. Throws ServiceError 503 while a provider
 * gives no quote.
 */
export async function planInputOf(
  deps: Pick<PlanningDeps, 'venue' | 'adapters'>,
  context: RequestContext,
  terms: StrategyTerms,
  { wallets, holdings, quotes }: Situation,
): Promise<PlanInput> {
  const { constraints, targets } = terms;
  const { feeBps, slippageBps } = deps.venue.terms;
  const sellable = holdings.filter(
    ({ asset, units }) => units > 0n && targets.some((target) => target.asset === asset),
  );
  const fees = new Map(
    await Promise.all(
      sellable.map(async (holding) => {
        const wallet = wallets.find(({ id }) => id === holding.walletId)!;
        return [`${holding.walletId}/${holding.asset}`, await feeOf(deps, context, wallet, holding)] as const;
      }),
    ),
  );
  return {
    targets,
    holdings,
    priced: pricesOf(quotes),
    constraints: {
      minTradeValue: BigInt(constraints.minTradeValue),
      maxTradeValue: constraints.maxTradeValue === null ? undefined : BigInt(constraints.maxTradeValue),
      maxTrades: constraints.maxTrades,
      maxCostBps: constraints.maxCostBps,
      cashFloor: cashFloorOf(terms),
    },
    costs: {
      venueFeeBps: feeBps,
      slippageBps,
      networkFee: (asset, walletId) => fees.get(`${walletId}/${asset}`),
    },
    walletFor: (asset) => wallets.find(({ network }) => network === assetOf(asset)?.network)?.id,
  };
}

/**
 * The highest cost of a transfer of the whole balance; undefined: the provider refuses one. Its destination is the wallet's own
 * address, because planning creates no venue account.
 */
async function feeOf(
  deps: Pick<PlanningDeps, 'adapters'>,
  context: RequestContext,
  wallet: WalletRecord,
  { asset, units }: Holding,
): Promise<NetworkFee | undefined> {
  const draft = {
    intentId: `quote/${wallet.id}/${asset}`,
    kind: 'transfer',
    wallet,
    asset,
    amount: unitsText(asset, units),
    units,
    toAddress: wallet.addresses[0]!.address,
  } as const;
  return askingProvider(wallet.provider, async () => {
    try {
      return (await adapterOf(deps, wallet.provider).quote(metaOf(context), draft)).fee;
    } catch (error) {
      if (error instanceof ProviderRejected) return undefined;
      throw error;
    }
  });
}

function pricesOf(quotes: readonly PriceQuote[]) {
  return new Map(quotes.map(({ asset, price }) => [asset, pricedAsset(asset, price)]));
}

function cashFloorOf({ constraints: { cashFloor } }: StrategyTerms) {
  return cashFloor === null ? undefined : { asset: cashFloor.asset, units: BigInt(cashFloor.units) };
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
  const since = timestamp(quote.asOfMs);
  throw noPrice(asset, 'price_stale', `the price of ${asset} is of ${since}: older than ${constraints.priceAgeMaxS} s`);
}

function noPrice(asset: string, issue: string, message: string): ServiceError {
  return new ServiceError('conflict', message, { details: [{ field: `prices.${asset}`, issue, message }] });
}

/** The positions of a strategy's present version. */
export function positionsNow(terms: StrategyTerms, { holdings, quotes }: Situation): Positions {
  return positionsOf(terms.targets, holdings, pricesOf(quotes), cashFloorOf(terms));
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
  // The price may move against the trade by the plan's tolerance.
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

/** The changes that make the plan stale; empty: it is not stale. */
export async function stalenessOf(
  { prices }: Pick<PlanningDeps, 'prices'>,
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
    stale.push({ field: 'strategy_id', issue: 'strategy_changed', message: 'the strategy has changed since then' });
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
        message: `the spendable amount of ${asset} in ${walletId} has changed`,
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
