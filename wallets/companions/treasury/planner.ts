/**
 * The trades that bring a treasury back to its targets. Pure: the same input gives the same plan.
 *
 * Trades begin when at least one asset is outside its band. Then the planner sells overweight assets for underweight ones, the
 * largest drift first, none beyond its target; assets inside their bands are only the other side of a trade of an asset
 * outside. So a trade never increases a drift, and there are fewer trades than pairs of holdings. Each trade names the
 * constraint that set its size, and each omission its reason.
 */
import {
  type AllocationTarget,
  absolute,
  bpsAll,
  type CashFloor,
  type Holding,
  type Position,
  type Positions,
  type PricedAsset,
  positionsOf,
  pricedOf,
  unitsWorth,
  worthOf,
} from './valuation.ts';

export const tradeBounds = [
  'proposal',
  'sell_target',
  'buy_target',
  'available',
  'cash_floor',
  'network_fee',
  'max_trade',
] as const;
/** The constraint that set the size of a trade. */
export type TradeBound = (typeof tradeBounds)[number];

export const skipReasons = [
  'in_band',
  'min_trade',
  'no_wallet',
  'cash_floor',
  'network_fee',
  'not_quoted',
  'costs',
  'max_trades',
] as const;
/** The reason why the plan omits an asset outside its band, or a part of its drift. */
export type SkipReason = (typeof skipReasons)[number];

export interface Constraints {
  /** Trades below this value are left out. */
  readonly minTradeValue: bigint;
  /** No trade is larger; undefined: any size. */
  readonly maxTradeValue: bigint | undefined;
  /** At most so many trades in one plan. */
  readonly maxTrades: number;
  readonly cashFloor: CashFloor | undefined;
  /** A trade whose fees and expected slippage are more than this share of it is left out. Below 10,000. */
  readonly maxCostBps: number;
}

/** The costs of a trade, from the venue and the wallets' networks. */
export interface Costs {
  readonly venueFeeBps: number;
  /** The expected difference between the venue's price and the quote. */
  readonly slippageBps: number;
  /**
   * The highest cost of a transfer of the asset out of the wallet, in the network's coin; undefined: its provider allows none.
   */
  networkFee(asset: string, walletId: string): NetworkFee | undefined;
}

export interface NetworkFee {
  readonly asset: string;
  readonly units: bigint;
}

export interface PlanInput {
  readonly targets: readonly AllocationTarget[];
  /** The spendable balances of the strategy's wallets, in their order; also of coins that only pay fees. */
  readonly holdings: readonly Holding[];
  readonly priced: ReadonlyMap<string, PricedAsset>;
  readonly constraints: Constraints;
  readonly costs: Costs;
  /** The wallet that receives an asset; undefined: none of the strategy's wallets can hold it. */
  walletFor(asset: string): string | undefined;
}

export interface Trade {
  readonly sell: { readonly asset: string; readonly walletId: string; readonly units: bigint };
  /** `units`: after the venue's fee and the expected slippage. */
  readonly buy: { readonly asset: string; readonly walletId: string; readonly units: bigint };
  /** Value of the sold amount, at the plan's prices. */
  readonly value: bigint;
  /** The venue's fee, the expected slippage, and the network's fee if its coin has a price. */
  readonly cost: bigint;
  readonly bound: TradeBound;
}

export interface Skipped {
  readonly asset: string;
  readonly reason: SkipReason;
}

export interface PlannedTrades {
  readonly before: Positions;
  readonly trades: readonly Trade[];
  readonly skipped: readonly Skipped[];
}

/** A trade that a model or a person proposes. */
export interface ProposedTrade {
  readonly sell: string;
  readonly buy: string;
  /** Smallest units of what is sold. */
  readonly units: bigint;
}

/** The reason why the plan omits a proposed trade. `index`: its position in the proposal. */
export interface Objection {
  readonly index: number;
  readonly constraint: TradeBound | SkipReason | 'wrong_side';
  /** The largest permitted amount to sell instead; zero: nothing. */
  readonly unitsMax: bigint;
}

/**
 * The plan for a proposal, under the same constraints as the planner's own, trade by trade in the proposal's order; it omits
 * trades that violate them, with an objection. Throws RangeError when an asset of the targets has no price.
 */
export function planProposal(
  input: PlanInput,
  proposed: readonly ProposedTrade[],
): PlannedTrades & { readonly objections: readonly Objection[] } {
  const { targets, holdings, priced, constraints } = input;
  const before = positionsOf(targets, holdings, priced, constraints.cashFloor);
  const planning = new Planning(input, before);
  const objections = proposed.flatMap((trade, index) => planning.propose(trade, index) ?? []);
  return { before, trades: planning.trades, skipped: [], objections };
}

/** Throws RangeError when an asset of the targets has no price. */
export function planTrades(input: PlanInput): PlannedTrades {
  const { targets, holdings, priced, constraints } = input;
  const before = positionsOf(targets, holdings, priced, constraints.cashFloor);
  const isOut = before.positions.some(({ inBand }) => !inBand);
  if (!isOut) return { before, trades: [], skipped: before.positions.filter(hasDrift).map(inBand) };
  return { before, ...new Planning(input, before).run() };
}

/** The amount of a side that is left to trade. */
interface Side {
  readonly position: Position;
  value: bigint;
}

/** A trade at the size that its constraints allow, or the reason for none. */
type Sized =
  | { readonly trade: Trade; readonly fee: NetworkFee }
  | { readonly skip: SkipReason; readonly asset: string };

class Planning {
  readonly trades: Trade[] = [];
  readonly #input: PlanInput;
  readonly #sells: readonly Side[];
  readonly #buys: readonly Side[];
  readonly #left: Holding[];
  readonly #skipped = new Map<string, SkipReason>();

  constructor(input: PlanInput, { positions }: Positions) {
    this.#input = input;
    const side = (position: Position): Side => ({ position, value: absolute(position.value - position.targetValue) });
    this.#sells = positions.filter(({ value, targetValue }) => value > targetValue).map(side);
    this.#buys = positions.filter(({ value, targetValue }) => value < targetValue).map(side);
    this.#left = input.holdings.map((holding) => ({ ...holding }));
  }

  run(): Pick<PlannedTrades, 'trades' | 'skipped'> {
    for (const sell of byUrgency(this.#sells)) {
      for (const buy of byUrgency(this.#buys)) {
        if (!(sell.position.inBand && buy.position.inBand)) this.#tradeAll(sell, buy);
      }
    }
    for (const { position } of [...this.#sells, ...this.#buys]) {
      if (position.inBand) this.#skip(position.asset, 'in_band');
    }
    const traded = new Set(this.trades.flatMap(({ sell, buy }) => [sell.asset, buy.asset]));
    const skipped = [...this.#skipped]
      .filter(([asset, reason]) => reason !== 'in_band' || !traded.has(asset))
      .map(([asset, reason]): Skipped => ({ asset, reason }));
    return { trades: this.trades, skipped };
  }

  /** undefined: the trade is in the plan. */
  propose(proposed: ProposedTrade, index: number): Objection | undefined {
    const sell = this.#sells.find(({ position }) => position.asset === proposed.sell);
    const buy = this.#buys.find(({ position }) => position.asset === proposed.buy);
    if (sell === undefined || buy === undefined) return { index, constraint: 'wrong_side', unitsMax: 0n };
    if (sell.position.inBand && buy.position.inBand) return { index, constraint: 'in_band', unitsMax: 0n };
    if (this.trades.length >= this.#input.constraints.maxTrades) {
      return { index, constraint: 'max_trades', unitsMax: 0n };
    }
    let best: Objection | undefined;
    for (const holding of this.#left.filter(({ asset }) => asset === proposed.sell)) {
      const sized = this.#size(sell, buy, holding, proposed.units);
      if ('trade' in sized && sized.trade.bound === 'proposal') {
        this.#take(sell, buy, sized);
        return undefined;
      }
      const objection: Objection =
        'trade' in sized
          ? { index, constraint: sized.trade.bound, unitsMax: sized.trade.sell.units }
          : { index, constraint: sized.skip, unitsMax: 0n };
      if (best === undefined || objection.unitsMax > best.unitsMax) best = objection;
    }
    return best ?? { index, constraint: 'available', unitsMax: 0n };
  }

  /** From every wallet that holds the asset, in the strategy's order, until one side is at its target. */
  #tradeAll(sell: Side, buy: Side): void {
    for (const { walletId } of this.#left.filter(({ asset }) => asset === sell.position.asset)) {
      if (sell.value <= 0n || buy.value <= 0n) return;
      if (this.trades.length >= this.#input.constraints.maxTrades) {
        this.#skip(sell.position.asset, 'max_trades');
        return;
      }
      const units = this.#unitsIn(walletId, sell.position.asset);
      const sized = this.#size(sell, buy, { walletId, asset: sell.position.asset, units });
      if ('trade' in sized) this.#take(sell, buy, sized);
      else this.#skip(sized.asset, sized.skip);
    }
  }

  #size(sell: Side, buy: Side, holding: Holding, proposed?: bigint): Sized {
    const { priced, constraints, costs } = this.#input;
    const { asset } = holding;
    const price = pricedOf(priced, asset);
    const buyAsset = buy.position.asset;
    const walletId = this.#input.walletFor(buyAsset);
    if (walletId === undefined) return { skip: 'no_wallet', asset: buyAsset };
    if (holding.units === 0n) return { skip: 'min_trade', asset };
    const fee = costs.networkFee(asset, holding.walletId);
    if (fee === undefined) return { skip: 'not_quoted', asset };
    if (fee.asset !== asset && this.#unitsIn(holding.walletId, fee.asset) < fee.units) {
      return { skip: 'network_fee', asset };
    }
    const limits: (readonly [TradeBound, bigint])[] = [
      ...(proposed === undefined ? [] : ([['proposal', proposed]] as const)),
      ['sell_target', unitsWorth(sell.value, price)],
      ['buy_target', unitsWorth(buy.value, price)],
      ['available', holding.units],
      ...(fee.asset === asset ? ([['network_fee', atLeastZero(holding.units - fee.units)]] as const) : []),
      ...this.#floorLimit(asset),
      ...(constraints.maxTradeValue === undefined
        ? []
        : ([['max_trade', unitsWorth(constraints.maxTradeValue, price)]] as const)),
    ];
    const [bound, units] = limits.reduce((least, limit) => (limit[1] < least[1] ? limit : least));
    const value = worthOf(units, price);
    if (value === 0n || value < constraints.minTradeValue) {
      return { skip: units === 0n && (bound === 'cash_floor' || bound === 'network_fee') ? bound : 'min_trade', asset };
    }
    const costBps = BigInt(costs.venueFeeBps + costs.slippageBps);
    const feePrice = priced.get(fee.asset);
    const cost = (value * costBps) / bpsAll + (feePrice === undefined ? 0n : worthOf(fee.units, feePrice));
    const bought = unitsWorth((value * (bpsAll - costBps)) / bpsAll, pricedOf(priced, buyAsset));
    if (cost * bpsAll > value * BigInt(constraints.maxCostBps) || bought <= 0n) return { skip: 'costs', asset };
    return {
      trade: {
        sell: { asset, walletId: holding.walletId, units },
        buy: { asset: buyAsset, walletId, units: bought },
        value,
        cost,
        bound,
      },
      fee,
    };
  }

  /** The floor applies to the sum of all wallets. */
  #floorLimit(asset: string): (readonly [TradeBound, bigint])[] {
    const { cashFloor } = this.#input.constraints;
    if (cashFloor?.asset !== asset) return [];
    const held = this.#left.filter((other) => other.asset === asset).reduce((sum, { units }) => sum + units, 0n);
    return [['cash_floor', atLeastZero(held - cashFloor.units)]];
  }

  #take(sell: Side, buy: Side, { trade, fee }: Extract<Sized, { trade: Trade }>): void {
    this.trades.push(trade);
    const { asset, walletId, units } = trade.sell;
    this.#spend(walletId, asset, units);
    this.#spend(walletId, fee.asset, fee.units);
    sell.value -= trade.value;
    buy.value -= trade.value;
  }

  #unitsIn(walletId: string, asset: string): bigint {
    return this.#left.find((held) => held.walletId === walletId && held.asset === asset)?.units ?? 0n;
  }

  #spend(walletId: string, asset: string, units: bigint): void {
    const index = this.#left.findIndex((held) => held.walletId === walletId && held.asset === asset);
    // Plans nothing for an unlisted asset, e.g. a network's coin that only pays fees.
    if (index === -1) return;
    const held = this.#left[index]!;
    this.#left[index] = { ...held, units: held.units - units };
  }

  #skip(asset: string, reason: SkipReason): void {
    if (!this.#skipped.has(asset)) this.#skipped.set(asset, reason);
  }
}

/** Outside the band before inside it, the larger drift first, then by name: never by the order of arrival. */
function byUrgency(sides: readonly Side[]): Side[] {
  return [...sides].sort((a, b) => {
    if (a.position.inBand !== b.position.inBand) return a.position.inBand ? 1 : -1;
    const [driftA, driftB] = [
      absolute(a.position.value - a.position.targetValue),
      absolute(b.position.value - b.position.targetValue),
    ];
    if (driftA !== driftB) return driftA > driftB ? -1 : 1;
    return a.position.asset < b.position.asset ? -1 : 1;
  });
}

function hasDrift({ value, targetValue }: Position): boolean {
  return value !== targetValue;
}

function inBand({ asset }: Position): Skipped {
  return { asset, reason: 'in_band' };
}

function atLeastZero(value: bigint): bigint {
  return value < 0n ? 0n : value;
}
