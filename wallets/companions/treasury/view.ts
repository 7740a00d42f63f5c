/** Strategies, positions and plans as the API shows them. */

import { actorOf } from '../../../gateway/api/principal.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import type { PriceQuote } from '../../providers/market/public.ts';
import { type Actor, principalFrom } from './actor.ts';
import { unitsText, usdText } from './amounts.ts';
import type { PlanPosition, PlanRecord, TradeRecord } from './plan-record.ts';
import type { Staleness } from './situation.ts';
import { type StrategyRecord, type StrategyTerms, termsOf, venueDeadlineS } from './strategy-record.ts';

/** The newest version, or another one of the strategy. */
export function strategyView(strategy: StrategyRecord, terms: StrategyTerms = termsOf(strategy)): object {
  const { constraints: limits } = terms;
  return {
    id: strategy.id,
    strategy_version: terms.strategyVersion,
    status: strategy.status,
    name: terms.name,
    wallet_ids: terms.walletIds,
    targets: terms.targets.map(({ asset, weightBps, bandBps }) => ({
      asset,
      weight_bps: weightBps,
      band_bps: bandBps,
    })),
    trigger: { kind: terms.trigger.kind, every_s: terms.trigger.everyS },
    constraints: {
      min_trade_usd: usdText(limits.minTradeValue),
      max_trade_usd: limits.maxTradeValue === null ? null : usdText(limits.maxTradeValue),
      max_trades: limits.maxTrades,
      max_cost_bps: limits.maxCostBps,
      cash_floor:
        limits.cashFloor === null
          ? null
          : { asset: limits.cashFloor.asset, amount: unitsText(limits.cashFloor.asset, limits.cashFloor.units) },
      cooldown_s: limits.cooldownS,
      price_tolerance_bps: limits.priceToleranceBps,
      price_age_max_s: limits.priceAgeMaxS,
      plan_ttl_s: limits.planTtlS,
      venue_deadline_s: venueDeadlineS(limits),
    },
    autonomy: terms.autonomy,
    policy: terms.policy,
    executing_plan_id: strategy.executingPlanId,
    last_executed_at: timestampOrNull(strategy.lastExecutedAtMs),
    created_at: timestamp(strategy.createdAtMs),
    updated_at: timestamp(terms === termsOf(strategy) ? strategy.updatedAtMs : terms.createdAtMs),
  };
}

export function positionView(position: PlanPosition): object {
  return {
    asset: position.asset,
    amount: unitsText(position.asset, position.units),
    value_usd: usdText(position.value),
    weight_bps: position.weightBps,
    target_bps: position.targetBps,
    drift_bps: position.driftBps,
    band_bps: position.bandBps,
    in_band: position.inBand,
  };
}

export function priceView({ asset, price, asOfMs }: Pick<PriceQuote, 'asset' | 'asOfMs'> & { price: bigint | string }) {
  return { asset, price_usd: usdText(price), as_of: timestamp(asOfMs) };
}

/** `stale`: only for a single plan, not for lists. */
export function planView(plan: PlanRecord, stale: readonly Staleness[] = []): object {
  return {
    id: plan.id,
    strategy_id: plan.strategyId,
    strategy_version: plan.strategyVersion,
    status: plan.status,
    origin: plan.origin,
    rationale: plan.rationale,
    asked_by: actorText(plan.asker),
    executed_by: plan.executor === null ? null : actorText(plan.executor),
    total_value_usd: usdText(plan.totalValue),
    positions: plan.positions.map(positionView),
    prices: plan.prices.map(priceView),
    trades: plan.trades.map(tradeView),
    skipped: plan.skipped.map(({ asset, reason }) => ({ asset, constraint: reason })),
    withheld: plan.withheld,
    stale,
    created_at: timestamp(plan.createdAtMs),
    updated_at: timestamp(plan.updatedAtMs),
    expires_at: timestamp(plan.expiresAtMs),
  };
}

function tradeView({ sell, buy, soldUnits, boughtUnits, ...trade }: TradeRecord): object {
  return {
    sell: { asset: sell.asset, wallet_id: sell.walletId, amount: unitsText(sell.asset, sell.units) },
    buy: {
      asset: buy.asset,
      wallet_id: buy.walletId,
      amount: unitsText(buy.asset, buy.units),
      amount_min: unitsText(buy.asset, buy.unitsMin),
    },
    value_usd: usdText(trade.value),
    cost_usd: usdText(trade.cost),
    constraint: trade.bound,
    status: trade.status,
    reason: trade.reason,
    transaction_intent_ids: trade.intentIds,
    sold: soldUnits === null ? null : unitsText(sell.asset, soldUnits),
    bought: boughtUnits === null ? null : unitsText(buy.asset, boughtUnits),
  };
}

/** The actor's name as in intents and approvals. */
function actorText(actor: Actor): string {
  return actorOf(principalFrom(actor));
}
