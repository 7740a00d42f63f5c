/** The value of a treasury, exact to the last digit: rounding, bands at their edges, and the cash floor. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readUnits, readUsd, unitsText, usdText } from '../../../../wallets/companions/treasury/amounts.ts';
import {
  type AllocationTarget,
  type PricedAsset,
  positionsOf,
  unitsWorth,
  worthOf,
} from '../../../../wallets/companions/treasury/valuation.ts';

const usd = (dollars: number) => BigInt(dollars) * 10n ** 8n;
const priced: ReadonlyMap<string, PricedAsset> = new Map([
  ['ETH', { asset: 'ETH', decimals: 18, price: usd(2_000) }],
  ['USDC', { asset: 'USDC', decimals: 6, price: usd(1) }],
]);
const target = (asset: string, weightBps: number, bandBps = 0): AllocationTarget => ({ asset, weightBps, bandBps });
const holding = (asset: string, units: bigint) => ({ walletId: 'w', asset, units });
const ether = 10n ** 18n;
const usdc = 10n ** 6n;

describe('amounts and values', () => {
  it('are rounded down to a whole unit, in both directions', () => {
    const units = fc.bigInt({ min: 0n, max: 10n ** 30n });
    const price = fc.bigInt({ min: 1n, max: 10n ** 15n });
    fc.assert(
      fc.property(units, price, fc.integer({ min: 0, max: 18 }), (amount, dollars, decimals) => {
        const asset = { asset: 'X', decimals, price: dollars };
        const one = 10n ** BigInt(decimals);
        const value = worthOf(amount, asset);
        expect(value * one <= amount * dollars && (value + 1n) * one > amount * dollars).toBe(true);
        const back = unitsWorth(amount, asset);
        expect(back * dollars <= amount * one && (back + 1n) * dollars > amount * one).toBe(true);
      }),
    );
  });

  it('are read and written with the decimals of dollars and of the asset', () => {
    expect(usdText(1_250_000_000n)).toBe('12.5');
    expect(usdText('1')).toBe('0.00000001');
    expect(readUsd('max', '12.5')).toBe(1_250_000_000n);
    expect(readUnits('min', 'USDC', '0.000001')).toBe(1n);
    expect(unitsText('ETH', ether / 2n)).toBe('0.5');
    for (const wrong of ['0', '0.000000001', '-1', 'x']) {
      expect(() => readUsd('max', wrong)).toThrow(expect.objectContaining({ kind: 'invalidRequest' }));
    }
    expect(() => unitsText('NONE', 1n)).toThrow('not registered');
  });
});

describe('positions', () => {
  const halves = (bandBps: number) => [target('ETH', 5_000, bandBps), target('USDC', 5_000, bandBps)];

  it('add up the holdings of each target, and count no others', () => {
    const held = [holding('ETH', ether), holding('USDC', 500n * usdc), holding('ETH', ether), holding('BTC', 7n)];
    expect(positionsOf([target('ETH', 8_000), target('USDC', 2_000)], held, priced)).toMatchObject({
      totalValue: usd(4_500),
      positions: [
        {
          asset: 'ETH',
          units: 2n * ether,
          value: usd(4_000),
          weightBps: 8_888,
          targetValue: usd(3_600),
          driftBps: 888,
        },
        { asset: 'USDC', value: usd(500), weightBps: 1_111, targetValue: usd(900), driftBps: -888, inBand: false },
      ],
    });
  });

  it('are in their band up to exactly its edge, and outside by one unit more, on either side', () => {
    const inBand = (units: bigint, bandBps: number) =>
      positionsOf(halves(bandBps), [holding('ETH', ether), holding('USDC', units)], priced).positions.map(
        (position) => position.inBand,
      );
    // Beside 1 ETH: 3,000 dollars are 60 % of all, 1,200 are 37.5 %.
    for (const [units, bps, farther] of [
      [3_000n * usdc, 1_000, 1n],
      [1_200n * usdc, 1_250, -1n],
    ] as const) {
      expect(inBand(units, bps)).toEqual([true, true]);
      expect(inBand(units + farther, bps)).toEqual([false, false]);
    }
  });

  it('of an empty treasury have no weight and no drift', () => {
    const { totalValue, positions } = positionsOf(halves(0), [], priced);
    expect(totalValue).toBe(0n);
    expect(positions).toMatchObject([
      { weightBps: 0, driftBps: 0, targetValue: 0n, inBand: true },
      { weightBps: 0, driftBps: 0, targetValue: 0n, inBand: true },
    ]);
  });

  it('take the cash floor as a target where it is worth more than the share, and divide the rest by weight', () => {
    const held = [holding('ETH', ether), holding('USDC', 2_000n * usdc)];
    const targets = [target('ETH', 6_000), target('USDC', 4_000)];
    const values = (units: bigint, given = targets) =>
      positionsOf(given, held, priced, { asset: 'USDC', units }).positions.map(({ targetValue }) => targetValue);
    const plain = [usd(2_400), usd(1_600)];
    expect(values(0n)).toEqual(plain);
    expect(values(1_600n * usdc - 1n)).toEqual(plain);
    expect(values(1_600n * usdc)).toEqual([usd(2_400) - 1n, usd(1_600) + 1n]);
    expect(values(3_000n * usdc)).toEqual([usd(1_000) - 1n, usd(3_000) + 1n]);
    // More than all there is.
    expect(values(9_000n * usdc)).toEqual([0n, usd(4_000)]);
    expect(values(3_000n * usdc, [target('USDC', 10_000)])).toEqual([usd(2_000)]);
    expect(positionsOf(targets, held, priced, { asset: 'BTC', units: 9n }).positions[0]!.targetValue).toBe(usd(2_400));
  });

  it('need a price of each target', () => {
    expect(() => positionsOf([target('BTC', 10_000)], [], priced)).toThrow(new RangeError('BTC has no price'));
  });
});
