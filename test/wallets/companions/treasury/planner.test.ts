/** The planner's properties: what holds of every plan, whatever is held and asked. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PlanInput, planProposal, planTrades } from '../../../../wallets/companions/treasury/planner.ts';
import { absolute, type PricedAsset, positionsOf } from '../../../../wallets/companions/treasury/valuation.ts';
import { runs } from '../../../support/thorough.ts';

const usd = 10n ** 8n;
const eth: PricedAsset = { asset: 'ETH', decimals: 18, price: 3_000n * usd };
const usdc: PricedAsset = { asset: 'USDC', decimals: 6, price: usd };
const btc: PricedAsset = { asset: 'BTC', decimals: 8, price: 90_000n * usd };
const sol: PricedAsset = { asset: 'SOL', decimals: 9, price: 150n * usd };
const all = [eth, usdc, btc, sol];
const one = (asset: PricedAsset): bigint => 10n ** BigInt(asset.decimals);
const nativeOf: Readonly<Record<string, string>> = { ETH: 'ETH', USDC: 'ETH', BTC: 'BTC', SOL: 'SOL' };

const free: PlanInput['costs'] = {
  venueFeeBps: 0,
  slippageBps: 0,
  networkFee: (asset) => ({ asset: nativeOf[asset]!, units: 0n }),
};
const unconstrained: PlanInput['constraints'] = {
  minTradeValue: 1n,
  maxTradeValue: undefined,
  maxTrades: 100,
  cashFloor: undefined,
  maxCostBps: 9_999,
};

function input(over: Partial<PlanInput> & Pick<PlanInput, 'targets' | 'holdings'>): PlanInput {
  return {
    priced: new Map(all.map((priced) => [priced.asset, priced])),
    constraints: unconstrained,
    costs: free,
    walletFor: (asset) => `w-${asset}`,
    ...over,
  };
}

const target = (asset: string, weightBps: number, bandBps = 100) => ({ asset, weightBps, bandBps });
const holding = (asset: PricedAsset, whole: bigint, walletId = `w-${asset.asset}`) => ({
  walletId,
  asset: asset.asset,
  units: whole * one(asset),
});

describe('a plan', () => {
  it('sells what is too much for what is too little', () => {
    const plan = planTrades(
      input({
        targets: [target('ETH', 5_000), target('USDC', 5_000)],
        holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
      }),
    );
    expect(plan.before.totalValue).toBe(40_000n * usd);
    expect(plan.trades).toEqual([
      {
        sell: { asset: 'ETH', walletId: 'w-ETH', units: 3_333_333_333_333_333_333n },
        buy: { asset: 'USDC', walletId: 'w-USDC', units: 9_999_999_999n },
        value: 999_999_999_999n,
        cost: 0n,
        bound: 'sell_target',
      },
    ]);
  });

  it('takes assets that are off by the same value in the order of their names, and an asset on its target in no trade', () => {
    const targets = [target('ETH', 2_500), target('USDC', 4_000), target('BTC', 1_000), target('SOL', 2_500)];
    const holdings = [holding(eth, 10n), holding(sol, 200n)];
    const given = { holdings, constraints: { ...unconstrained, maxTrades: 1 } };
    for (const ordered of [targets, targets.toReversed()]) {
      const { trades } = planTrades(input({ ...given, targets: ordered }));
      expect(trades.map(({ sell, buy }) => [sell.asset, buy.asset])).toEqual([['ETH', 'USDC']]);
    }
    const balanced = input({
      targets: [target('ETH', 5_000, 0), target('USDC', 2_500, 0), target('SOL', 2_500, 0)],
      holdings: [holding(eth, 5n), holding(usdc, 15_000n)],
    });
    const { objections } = planProposal(balanced, [
      { sell: 'ETH', buy: 'SOL', units: 1n },
      { sell: 'USDC', buy: 'ETH', units: 1n },
    ]);
    expect(objections.map(({ constraint }) => constraint)).toEqual(['wrong_side', 'wrong_side']);
  });

  it('leaves a treasury alone whose assets lie within their bands', () => {
    const plan = planTrades(
      input({
        targets: [target('ETH', 7_400, 200), target('USDC', 2_600, 200)],
        holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
      }),
    );
    expect(plan.trades).toEqual([]);
    expect(plan.skipped).toEqual([
      { asset: 'ETH', reason: 'in_band' },
      { asset: 'USDC', reason: 'in_band' },
    ]);
  });

  it('names the constraint that set the size of a trade', () => {
    const base = input({
      targets: [target('ETH', 5_000), target('USDC', 5_000)],
      holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
    });
    const boundOf = (over: Partial<PlanInput>) => planTrades({ ...base, ...over }).trades[0]?.bound;
    const max = { ...unconstrained, maxTradeValue: 500n * usd };
    expect(boundOf({ constraints: max })).toBe('max_trade');
    const poor = { ...unconstrained, cashFloor: { asset: 'ETH', units: 9n * one(eth) } };
    expect(boundOf({ constraints: poor })).toBe('sell_target');
    const dear = { ...free, networkFee: () => ({ asset: 'ETH', units: 8n * one(eth) }) };
    expect(boundOf({ costs: dear, constraints: { ...unconstrained, maxCostBps: 99_999 } })).toBe('network_fee');
  });

  it('says why it leaves a trade out', () => {
    const base = input({
      targets: [target('ETH', 5_000), target('USDC', 5_000)],
      holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
    });
    const skippedOf = (over: Partial<PlanInput>) => planTrades({ ...base, ...over }).skipped;
    const small = { ...unconstrained, minTradeValue: 20_000n * usd };
    expect(skippedOf({ constraints: small })).toContainEqual({ asset: 'ETH', reason: 'min_trade' });
    const costs = { ...free, venueFeeBps: 60, slippageBps: 50 };
    expect(skippedOf({ costs, constraints: { ...unconstrained, maxCostBps: 100 } })).toContainEqual({
      asset: 'ETH',
      reason: 'costs',
    });
    expect(skippedOf({ walletFor: () => undefined })).toContainEqual({ asset: 'USDC', reason: 'no_wallet' });
    expect(skippedOf({ constraints: { ...unconstrained, maxTrades: 0 } })).toContainEqual({
      asset: 'ETH',
      reason: 'max_trades',
    });
  });

  it('trades at exactly the smallest value, and at exactly the highest cost', () => {
    const base = input({
      targets: [target('ETH', 5_000), target('USDC', 5_000)],
      holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
    });
    const planned = (over: Partial<PlanInput>) => {
      const { trades, skipped } = planTrades({ ...base, ...over });
      return trades.length > 0 ? `${trades[0]!.value} costs ${trades[0]!.cost}` : skipped[0]!.reason;
    };
    const [value] = planTrades(base).trades.map((trade) => trade.value);
    expect(planned({ constraints: { ...unconstrained, minTradeValue: value! } })).toBe('999999999999 costs 0');
    expect(planned({ constraints: { ...unconstrained, minTradeValue: value! + 1n } })).toBe('min_trade');
    // 900 dollars, of which the venue takes 6.3 and the network 0.0009 ETH, 2.7 dollars: exactly 100 basis points.
    const capped = { ...unconstrained, maxTradeValue: 900n * usd, maxCostBps: 100 };
    const at = (units: bigint) => {
      const networkFee = () => ({ asset: 'ETH', units });
      return planned({ constraints: capped, costs: { venueFeeBps: 40, slippageBps: 30, networkFee } });
    };
    const fee = (9n * one(eth)) / 10_000n;
    expect(at(fee)).toBe('90000000000 costs 900000000');
    expect(at(fee + one(eth) / 10n ** 11n)).toBe('costs');
  });

  it('takes each trade’s network fee from what the wallet has left', () => {
    const costs = { ...free, networkFee: () => ({ asset: 'ETH', units: one(eth) }) };
    const { trades } = planTrades(
      input({
        targets: [target('ETH', 0), target('USDC', 5_000), target('SOL', 5_000)],
        holdings: [holding(eth, 10n)],
        costs,
      }),
    );
    // 10 ETH: 5 and the fee, so that 4 are left, of which one is the second fee.
    expect(trades.map(({ sell, bound }) => [sell.units, bound])).toEqual([
      [5n * one(eth), 'buy_target'],
      [3n * one(eth), 'network_fee'],
    ]);
  });

  it('takes no more proposed trades than it may make', () => {
    const base = input({
      targets: [target('ETH', 5_000), target('USDC', 5_000)],
      holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
      constraints: { ...unconstrained, maxTrades: 2 },
    });
    const proposed = [1n, 1n, 1n].map((units) => ({ sell: 'ETH', buy: 'USDC', units: units * one(eth) }));
    const { trades, objections } = planProposal(base, proposed);
    expect(trades).toHaveLength(2);
    expect(objections).toEqual([{ index: 2, constraint: 'max_trades', unitsMax: 0n }]);
    expect(planProposal(base, proposed.slice(1)).objections).toEqual([]);
  });

  it('raises the target of the cash asset to its floor', () => {
    const plan = planTrades(
      input({
        targets: [target('ETH', 9_000), target('USDC', 1_000)],
        holdings: [holding(eth, 10n), holding(usdc, 1_000n)],
        constraints: { ...unconstrained, cashFloor: { asset: 'USDC', units: 12_000n * one(usdc) } },
      }),
    );
    const [position] = plan.before.positions.filter(({ asset }) => asset === 'USDC');
    expect(position!.targetValue).toBe(12_000n * usd + 1n);
    expect(plan.trades.map(({ sell, buy }) => [sell.asset, buy.asset])).toEqual([['ETH', 'USDC']]);
  });
});

const weights = fc.array(fc.nat(100), { minLength: 4, maxLength: 4 }).map((parts) => {
  const sum = parts.reduce((a, b) => a + b, 0) || 1;
  const scaled = parts.map((part) => Math.floor((part * 10_000) / sum));
  scaled[0] = 10_000 - scaled.slice(1).reduce((a, b) => a + b, 0);
  return scaled;
});

const anyInput: fc.Arbitrary<PlanInput> = fc
  .record({
    weights,
    bands: fc.array(fc.nat(2_000), { minLength: 4, maxLength: 4 }),
    held: fc.array(fc.tuple(fc.nat(3), fc.nat(1), fc.bigInt(0n, 10n ** 6n)), { maxLength: 8 }),
    prices: fc.array(fc.bigInt(1n, 10n ** 13n), { minLength: 4, maxLength: 4 }),
    minTrade: fc.bigInt(1n, 10_000n * usd),
    maxTrade: fc.option(fc.bigInt(1n, 100_000n * usd), { nil: undefined }),
    maxTrades: fc.nat(12),
    floor: fc.option(fc.tuple(fc.nat(3), fc.bigInt(0n, 10n ** 6n)), { nil: undefined }),
    fee: fc.nat(200),
    slippage: fc.nat(200),
    networkFee: fc.nat(50),
    maxCost: fc.integer({ min: 1, max: 5_000 }),
  })
  .map((drawn) => {
    const priced = all.map((asset, index) => ({ ...asset, price: drawn.prices[index]! }));
    const milli = (index: number, amount: bigint) => amount * (one(all[index]!) / 1_000n);
    return {
      targets: all.map(({ asset }, index) => ({
        asset,
        weightBps: drawn.weights[index]!,
        bandBps: drawn.bands[index]!,
      })),
      holdings: [
        ...new Map(
          drawn.held.map(([index, wallet, amount]) => {
            const held = { walletId: `w${wallet}`, asset: all[index]!.asset, units: milli(index, amount) };
            return [`${held.walletId}/${held.asset}`, held] as const;
          }),
        ).values(),
      ],
      priced: new Map(priced.map((asset) => [asset.asset, asset])),
      constraints: {
        minTradeValue: drawn.minTrade,
        maxTradeValue: drawn.maxTrade,
        maxTrades: drawn.maxTrades,
        cashFloor: drawn.floor && { asset: all[drawn.floor[0]]!.asset, units: milli(drawn.floor[0], drawn.floor[1]) },
        maxCostBps: drawn.maxCost,
      },
      costs: {
        venueFeeBps: drawn.fee,
        slippageBps: drawn.slippage,
        networkFee: (asset: string) => {
          const index = all.findIndex((known) => known.asset === nativeOf[asset]);
          return { asset: nativeOf[asset]!, units: milli(index, BigInt(drawn.networkFee)) };
        },
      },
      walletFor: () => 'w0',
    };
  });

/** Holdings after all trades and their network fees. */
function afterTrades({ holdings, costs }: PlanInput, trades: ReturnType<typeof planTrades>['trades']) {
  const left = new Map(holdings.map(({ walletId, asset, units }) => [`${walletId}/${asset}`, units]));
  const add = (walletId: string, asset: string, units: bigint) => {
    const key = `${walletId}/${asset}`;
    left.set(key, (left.get(key) ?? 0n) + units);
  };
  for (const { sell, buy } of trades) {
    add(sell.walletId, sell.asset, -sell.units);
    add(buy.walletId, buy.asset, buy.units);
    const fee = costs.networkFee(sell.asset, sell.walletId)!;
    add(sell.walletId, fee.asset, -fee.units);
  }
  return [...left].map(([key, units]) => ({ walletId: key.split('/')[0]!, asset: key.split('/')[1]!, units }));
}

describe('of every plan holds that', () => {
  const holds = (check: (input: PlanInput, plan: ReturnType<typeof planTrades>) => void) =>
    fc.assert(
      fc.property(anyInput, (drawn) => {
        check(drawn, planTrades(drawn));
      }),
      { numRuns: runs(150, 500) },
    );

  it('nothing is spent that is not there, fees included', () => {
    holds((drawn, { trades }) => {
      for (const { units } of afterTrades(drawn, trades)) expect(units >= 0n).toBe(true);
    });
  });

  it('no value comes from nowhere', () => {
    holds((drawn, { trades, before }) => {
      const then = positionsOf(drawn.targets, afterTrades(drawn, trades), drawn.priced, undefined);
      expect(then.totalValue <= before.totalValue + BigInt(trades.length)).toBe(true);
      const costs = trades.reduce((sum, { cost }) => sum + cost, 0n);
      // Each trade rounds three times, by less than one smallest unit of an asset.
      const unit = [...drawn.priced.values()].reduce(
        (sum, { price, decimals }) => sum + price / 10n ** BigInt(decimals) + 1n,
        0n,
      );
      expect(before.totalValue - then.totalValue <= costs + BigInt(trades.length) * 4n * unit).toBe(true);
    });
  });

  it('no trade is inside a band', () => {
    holds((_drawn, { trades, before }) => {
      const out = new Set(before.positions.filter(({ inBand }) => !inBand).map(({ asset }) => asset));
      for (const { sell, buy } of trades) expect(out.has(sell.asset) || out.has(buy.asset)).toBe(true);
    });
  });

  it('no asset is traded beyond its target', () => {
    holds((drawn, { trades, before }) => {
      for (const { asset, value, targetValue } of before.positions) {
        const sold = trades.filter(({ sell }) => sell.asset === asset).reduce((sum, trade) => sum + trade.value, 0n);
        const bought = trades.filter(({ buy }) => buy.asset === asset).reduce((sum, trade) => sum + trade.value, 0n);
        if (sold > 0n) expect([bought, value - sold >= targetValue]).toEqual([0n, true]);
        if (bought > 0n) expect([sold, value + bought <= targetValue]).toEqual([0n, true]);
      }
      expect(drawn.targets.length).toBe(before.positions.length);
    });
  });

  it('the sum of drifts does not grow', () => {
    holds((drawn, { trades, before }) => {
      const now = afterTrades(drawn, trades);
      const driftOf = (holdings: typeof now): bigint => {
        const { positions } = positionsOf(drawn.targets, holdings, drawn.priced, undefined);
        return before.positions.reduce(
          (sum, { asset, targetValue }) =>
            sum + absolute(positions.find((position) => position.asset === asset)!.value - targetValue),
          0n,
        );
      };
      // Rounding: less than one unit of value for each asset of a trade.
      expect(driftOf(now) <= driftOf([...drawn.holdings]) + BigInt(trades.length) * 4n).toBe(true);
    });
  });

  it('there are no more trades than asked, nor than pairs of holdings and assets', () => {
    holds((drawn, { trades }) => {
      expect(trades.length).toBeLessThanOrEqual(drawn.constraints.maxTrades);
      expect(trades.length).toBeLessThan(drawn.holdings.length + drawn.targets.length + 1);
    });
  });

  it('each trade is within its limits', () => {
    holds(({ constraints }, { trades }) => {
      for (const { value, cost } of trades) {
        expect(value >= constraints.minTradeValue).toBe(true);
        if (constraints.maxTradeValue !== undefined) expect(value <= constraints.maxTradeValue).toBe(true);
        expect(cost * 10_000n <= value * BigInt(constraints.maxCostBps)).toBe(true);
      }
    });
  });

  it('the cash floor stays', () => {
    holds((drawn, { trades }) => {
      const { cashFloor } = drawn.constraints;
      const sold = trades.filter(({ sell }) => sell.asset === cashFloor?.asset);
      if (cashFloor === undefined || sold.length === 0) return;
      const units = drawn.holdings
        .filter(({ asset }) => asset === cashFloor.asset)
        .reduce((sum, held) => sum + held.units, 0n);
      expect(units - sold.reduce((sum, { sell }) => sum + sell.units, 0n) >= cashFloor.units).toBe(true);
    });
  });

  it('the same input gives the same plan', () => {
    holds((drawn, plan) => {
      expect(planTrades(drawn)).toEqual(plan);
    });
  });

  it('proposed by another, it is taken as it is', () => {
    holds((drawn, { trades, before }) => {
      // One wallet each: a proposal names assets, and the planner splits a sale over wallets.
      const wallets = new Set(drawn.holdings.map(({ walletId }) => walletId));
      if (wallets.size > 1 || before.positions.every(({ inBand }) => inBand)) return;
      const proposed = trades.map(({ sell, buy }) => ({ sell: sell.asset, buy: buy.asset, units: sell.units }));
      const checked = planProposal(drawn, proposed);
      expect(checked.objections).toEqual([]);
      expect(checked.trades.map(({ bound: _bound, ...trade }) => trade)).toEqual(
        trades.map(({ bound: _bound, ...trade }) => trade),
      );
    });
  });
});

describe('a proposal', () => {
  const base = input({
    targets: [target('ETH', 5_000), target('USDC', 5_000)],
    holdings: [holding(eth, 10n), holding(usdc, 10_000n)],
  });

  it('that would trade beyond the target is objected to, with what would be allowed', () => {
    const { trades, objections } = planProposal(base, [{ sell: 'ETH', buy: 'USDC', units: 4n * one(eth) }]);
    expect(trades).toEqual([]);
    expect(objections).toEqual([{ index: 0, constraint: 'sell_target', unitsMax: 3_333_333_333_333_333_333n }]);
  });

  it('in the wrong direction is objected to', () => {
    expect(planProposal(base, [{ sell: 'USDC', buy: 'ETH', units: one(usdc) }]).objections).toEqual([
      { index: 0, constraint: 'wrong_side', unitsMax: 0n },
    ]);
  });
});
