/**
 * The value of a treasury and its distance from its targets. Whole numbers throughout: a price is a count of 10⁻⁸ US
 * dollars for one whole unit of an asset, a value is a count of 10⁻⁸ US dollars, a weight is in basis points (10,000 are
 * all). Pure.
 */

export const bpsAll = 10_000n;
/** Digits after the decimal point of a price and of a value. */
export const usdDecimals = 8;

export interface AllocationTarget {
  readonly asset: string;
  /** Its share of the total value; those of a strategy sum up to 10,000. */
  readonly weightBps: number;
  /** The distance of the share from the target at which trading begins. */
  readonly bandBps: number;
}

/** The spendable balance of one asset in one wallet. */
export interface Holding {
  readonly walletId: string;
  readonly asset: string;
  /** Smallest units. */
  readonly units: bigint;
}

export interface PricedAsset {
  readonly asset: string;
  readonly decimals: number;
  /** 10⁻⁸ US dollars for one whole unit. Above zero. */
  readonly price: bigint;
}

export interface Position {
  readonly asset: string;
  readonly units: bigint;
  readonly value: bigint;
  /** Its present share, rounded down. */
  readonly weightBps: number;
  readonly target: AllocationTarget;
  /** Its value at the target share. */
  readonly targetValue: bigint;
  /** Above zero: overweight. Basis points of the total value, rounded towards zero. */
  readonly driftBps: number;
  readonly inBand: boolean;
}

export interface Positions {
  readonly totalValue: bigint;
  /** In the order of the targets. */
  readonly positions: readonly Position[];
}

/** The value of an amount of smallest units, rounded down. */
export function worthOf(units: bigint, { price, decimals }: PricedAsset): bigint {
  return (units * price) / 10n ** BigInt(decimals);
}

/** The smallest units with this value, rounded down. */
export function unitsWorth(value: bigint, { price, decimals }: PricedAsset): bigint {
  return (value * 10n ** BigInt(decimals)) / price;
}

/** An amount of one asset that is never sold: it raises a target that is worth less. */
export interface CashFloor {
  readonly asset: string;
  readonly units: bigint;
}

/**
 * Every target's position. If the cash floor is worth more than its asset's share, the floor is that asset's target, and the
 * others share the rest by their weights. Holdings of assets without a target do not count.
 * Throws RangeError when an asset of the targets has no price.
 */
export function positionsOf(
  targets: readonly AllocationTarget[],
  holdings: readonly Holding[],
  priced: ReadonlyMap<string, PricedAsset>,
  floor?: CashFloor,
): Positions {
  const held = targets.map((target) => {
    const units = holdings
      .filter(({ asset }) => asset === target.asset)
      .reduce((sum, holding) => sum + holding.units, 0n);
    return { target, units, value: worthOf(units, pricedOf(priced, target.asset)) };
  });
  const totalValue = held.reduce((sum, { value }) => sum + value, 0n);
  const targetValueOf = targetValues(targets, totalValue, priced, floor);
  const positions = held.map(({ target, units, value }): Position => {
    const targetValue = targetValueOf(target);
    const drift = value - targetValue;
    const driftBps = totalValue === 0n ? 0 : Number((drift * bpsAll) / totalValue);
    return {
      asset: target.asset,
      units,
      value,
      weightBps: totalValue === 0n ? 0 : Number((value * bpsAll) / totalValue),
      target,
      targetValue,
      driftBps,
      // Compared without rounding: |drift| / total against band / 10,000.
      inBand: absolute(drift) * bpsAll <= BigInt(target.bandBps) * totalValue,
    };
  });
  return { totalValue, positions };
}

function targetValues(
  targets: readonly AllocationTarget[],
  totalValue: bigint,
  priced: ReadonlyMap<string, PricedAsset>,
  floor: CashFloor | undefined,
): (target: AllocationTarget) => bigint {
  const share = ({ weightBps }: AllocationTarget): bigint => (totalValue * BigInt(weightBps)) / bpsAll;
  const cash = targets.find(({ asset }) => asset === floor?.asset);
  if (cash === undefined || floor === undefined) return share;
  // Rounded up: one unit less than the floor's value is below the floor.
  const wanted = worthOf(floor.units, pricedOf(priced, cash.asset)) + 1n;
  const floorValue = wanted < totalValue ? wanted : totalValue;
  if (floor.units === 0n || share(cash) >= floorValue) return share;
  const rest = bpsAll - BigInt(cash.weightBps);
  return (target) =>
    target === cash ? floorValue : rest === 0n ? 0n : ((totalValue - floorValue) * BigInt(target.weightBps)) / rest;
}

export function pricedOf(priced: ReadonlyMap<string, PricedAsset>, asset: string): PricedAsset {
  const found = priced.get(asset);
  if (found === undefined) throw new RangeError(`${asset} has no price`);
  return found;
}

export function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}
