/** Amounts as Redis scripts take them: texts of 42 digits (units.lua). */
const width = 42;
export const largest = 10n ** BigInt(width) - 1n;

/** For a script. Throws Error outside 0 … 10^42 − 1. */
export function toDigits(units: bigint): string {
  if (units < 0n || units > largest) throw new Error('an amount on a chain has at most 42 digits');
  return units.toString().padStart(width, '0');
}
