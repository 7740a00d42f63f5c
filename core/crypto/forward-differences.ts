/**
 * The values of a polynomial in the exponent at small numbers, by forward differences: after a set-up, each step from x to
 * x + 1 costs one addition a coefficient (Knuth, The Art of Computer Programming, volume 2, 4.6.4).
 */

/** More coefficients have factorials that are no longer small. */
const coefficientsMax = 8;

/** The two operations, of points that may be the identity if they accept it. `times` gets a factor from 1 to 5,040. */
export interface SmallArithmetic<Point> {
  add(p: Point, q: Point): Point;
  times(point: Point, factor: number): Point;
}

/**
 * The values at `xs`, ascending and positive. undefined where differences would cost more than Horner's rule: too many
 * coefficients, or too few numbers for the steps to the last.
 */
export function valuesByDifferences<Point>(
  coefficients: readonly Point[],
  xs: readonly number[],
  { add, times }: SmallArithmetic<Point>,
): Point[] | undefined {
  const degree = coefficients.length - 1;
  const last = xs.at(-1) ?? 0;
  if (degree < 0 || degree >= coefficientsMax || last > 2 * xs.length) return undefined;
  // Synthetic division by x − 1, x − 2, … leaves Newton's form Σ b_k·x·(x − 1)⋯(x − k + 1), whose k-th difference at 0 is k!·b_k.
  const differences = [...coefficients];
  for (let root = 1; root < degree; root += 1) {
    for (let k = degree - 1; k >= root; k -= 1) {
      differences[k] = add(differences[k]!, times(differences[k + 1]!, root));
    }
  }
  for (let k = 2, factorial = 2; k <= degree; k += 1, factorial *= k) {
    differences[k] = times(differences[k]!, factorial);
  }
  let at = 0;
  return xs.map((x) => {
    for (; at < x; at += 1) {
      for (let k = 0; k < degree; k += 1) differences[k] = add(differences[k]!, differences[k + 1]!);
    }
    return differences[0]!;
  });
}
