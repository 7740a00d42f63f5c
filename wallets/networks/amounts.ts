/** Amounts: decimal strings outside, whole numbers of the smallest unit inside. Never a float. */

export type AmountProblem = 'invalid_format' | 'must_be_positive' | 'too_many_decimals' | 'too_large';

/** Digits before the decimal point, at most: more than any asset's supply needs. */
const integerDigitsMax = 30;
const pattern = /^(\d+)(?:\.(\d+))?$/;

/** A decimal above zero in the smallest units of an asset with these decimals, or its fault. */
export function parseAmount(text: string, decimals: number): bigint | AmountProblem {
  const match = pattern.exec(text);
  if (match === null) return 'invalid_format';
  const integer = match[1]!;
  const fraction = match[2] ?? '';
  if (integer.length > 1 && integer.startsWith('0')) return 'invalid_format';
  if (integer.length > integerDigitsMax) return 'too_large';
  if (fraction.length > decimals) return 'too_many_decimals';
  const units = BigInt(integer + fraction.padEnd(decimals, '0'));
  return units === 0n ? 'must_be_positive' : units;
}

/** What a refused amount takes, for the message beside its fault. `decimals` undefined: of an unknown asset. */
export function amountTakes(problem: AmountProblem, decimals: number | undefined): string {
  if (problem === 'too_large') return `takes up to ${integerDigitsMax} digits before the decimal point`;
  return `takes a decimal above 0${decimals === undefined ? '' : ` with up to ${decimals} decimals`}`;
}

/** Without trailing zeros: 1500000 with 6 decimals is "1.5". */
export function formatAmount(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0');
  const integer = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? `${sign}${integer}` : `${sign}${integer}.${fraction}`;
}
