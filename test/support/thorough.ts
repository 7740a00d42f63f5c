/**
 * How far a random or exhaustive test goes. `npm test` goes as far as it must to notice the flaws that are known;
 * `npm test -- --thorough` goes further, for a nightly run.
 */
export const isThorough = process.env.TESTS_THOROUGH === '1';

/** How often, or how many. */
export function runs(usual: number, thorough: number): number {
  return isThorough ? thorough : usual;
}
