/** US dollars and amounts of assets, between the API's decimal strings and whole numbers. */
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { amountTakes, formatAmount, parseAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { type PricedAsset, usdDecimals } from './valuation.ts';

/** "12.5" for 1,250,000,000. */
export function usdText(value: bigint | string): string {
  return formatAmount(BigInt(value), usdDecimals);
}

/** 10⁻⁸ US dollars. Throws ServiceError 400. */
export function readUsd(field: string, text: string): bigint {
  return read(field, text, usdDecimals);
}

/** Smallest units. Throws ServiceError 400. */
export function readUnits(field: string, asset: string, text: string): bigint {
  return read(field, text, decimalsOf(asset));
}

export function unitsText(asset: string, units: bigint | string): string {
  return formatAmount(BigInt(units), decimalsOf(asset));
}

/** Of a registered asset. */
export function decimalsOf(asset: string): number {
  const found = assetOf(asset);
  if (found === undefined) throw new Error(`asset ${asset} is not registered`);
  return found.decimals;
}

export function pricedAsset(asset: string, price: bigint): PricedAsset {
  return { asset, decimals: decimalsOf(asset), price };
}

export function badField(field: string, issue: string, message: string): ServiceError {
  return invalidFields([{ field, issue, message }]);
}

function read(field: string, text: string, decimals: number): bigint {
  const units = parseAmount(text, decimals);
  if (typeof units === 'bigint') return units;
  throw badField(field, units, amountTakes(units, decimals));
}
