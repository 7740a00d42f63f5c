/**
 * Polynomials over a scalar field: Shamir's secret sharing (Shamir 1979) and Lagrange interpolation at zero
 * (RFC 9591 §4.2).
 *
 * A polynomial of threshold t is t coefficients, constant term first; the constant term is the secret that is shared.
 * Coefficients are drawn non-zero, so that every Feldman commitment is an encodable point; this changes the
 * distribution by less than 2^-249.
 */
import { encodeParts, type RandomSource, u32be, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { type Curve, groupOf } from './group.ts';
import { hkdfSha256 } from './hashing.ts';
import { BoundedMemo } from './memo.ts';
import { integerFromBigEndian, invert, modulo } from './scalar.ts';

/** The most nodes that a key can have. */
export const NODES_MAX = 100;

/** The coefficients of a secret polynomial, constant term first, each in [1, order). Secret. */
export type Polynomial = readonly bigint[];

/** Throws INVALID_THRESHOLD unless 2 ≤ threshold ≤ totalNodes ≤ 100. */
export function assertThreshold(threshold: number, totalNodes: number): void {
  const integers = Number.isInteger(threshold) && Number.isInteger(totalNodes);
  if (!integers || threshold < 2 || threshold > totalNodes || totalNodes > NODES_MAX) {
    throw new CryptoError(
      'INVALID_THRESHOLD',
      `threshold ${threshold} of ${totalNodes}: need 2 <= t <= n <= ${NODES_MAX}`,
    );
  }
}

/** Throws INVALID_NODE_ID unless `nodeId` is an integer from 1 to `nodesMax`. */
export function assertNodeId(nodeId: number, nodesMax: number = NODES_MAX): void {
  if (!Number.isInteger(nodeId) || nodeId < 1 || nodeId > nodesMax) {
    throw new CryptoError('INVALID_NODE_ID', `node id ${nodeId} is not from 1 to ${nodesMax}`);
  }
}

/** The value of the polynomial at `x`, by Horner's rule. Secret when the polynomial is. */
export function evaluate(curve: Curve, polynomial: Polynomial, x: number): bigint {
  const { order } = groupOf(curve);
  const at = BigInt(x);
  let value = 0n;
  for (let k = polynomial.length - 1; k >= 0; k--) value = (value * at + polynomial[k]!) % order;
  return modulo(value, order);
}

/** A fresh polynomial of `threshold` uniform non-zero coefficients. Secret. */
export function randomPolynomial(curve: Curve, threshold: number, random: RandomSource): Polynomial {
  assertThreshold(threshold, NODES_MAX);
  return Array.from({ length: threshold }, () => groupOf(curve).randomScalar(random));
}

/**
 * The polynomial that a node deals for a ready-made key of the sandbox: the same on every start.
 *
 * Coefficient k is HKDF-SHA-256(seed, salt "signmesh/seeded-polynomial/v1", info = (curve, threshold, node id, key name,
 * k)) of 64 bytes, reduced to [1, order).
 *
 * @param seed 32 secret bytes
 * @param keyName any text; another name gives an unrelated polynomial
 */
export function polynomialFromSeed(
  curve: Curve,
  threshold: number,
  seed: Uint8Array,
  nodeId: number,
  keyName: string,
): Polynomial {
  assertThreshold(threshold, NODES_MAX);
  assertNodeId(nodeId);
  if (seed.length !== 32) throw new CryptoError('INVALID_BYTES', 'the seed is 32 bytes');
  const { order } = groupOf(curve);
  const salt = utf8('signmesh/seeded-polynomial/v1');
  return Array.from({ length: threshold }, (_, k) => {
    const info = encodeParts(utf8(curve), u32be(threshold), u32be(nodeId), utf8(keyName), u32be(k));
    return modulo(integerFromBigEndian(hkdfSha256(seed, salt, info, 64)), order - 1n) + 1n;
  });
}

/** The cache of coefficients, since the same sets of signers recur; it holds at most a hundred thousand numbers. */
const lagrangeMemo = new BoundedMemo<string, ReadonlyMap<number, bigint>>(512);

/**
 * λ_i = Π_{j≠i} x_j / (x_j − x_i) for every member of the set: f(0) = Σ λ_i·f(i). RFC 9591 §4.2.
 * Memoized per set; the order of the ids does not matter. Duplicates or ids outside 1..100: INVALID_NODE_ID.
 */
export function lagrangeCoefficients(curve: Curve, nodeIds: readonly number[]): ReadonlyMap<number, bigint> {
  const sorted = [...nodeIds].sort((a, b) => a - b);
  const key = `${curve}:${sorted.join(',')}`;
  const known = lagrangeMemo.get(key);
  if (known !== undefined) return known;
  const { order } = groupOf(curve);
  const coefficients = new Map<number, bigint>();
  for (const [index, nodeId] of sorted.entries()) {
    assertNodeId(nodeId);
    if (sorted[index + 1] === nodeId) throw new CryptoError('INVALID_NODE_ID', `node id ${nodeId} appears twice`);
  }
  for (const nodeId of sorted) {
    let numerator = 1n;
    let denominator = 1n;
    for (const other of sorted) {
      if (other === nodeId) continue;
      numerator = (numerator * BigInt(other)) % order;
      denominator = modulo(denominator * BigInt(other - nodeId), order);
    }
    coefficients.set(nodeId, (numerator * invert(denominator, order)) % order);
  }
  lagrangeMemo.set(key, coefficients);
  return coefficients;
}

/** The seed of one node's polynomials, from a seed that no node knows. 32 bytes, secret. */
export function seedOfNode(seed: Uint8Array, nodeId: number): Uint8Array {
  assertNodeId(nodeId);
  return hkdfSha256(seed, new Uint8Array(0), encodeParts(utf8('signmesh/node-seed/v1'), u32be(nodeId)), 32);
}

/** λ of one member of the set; an id outside the set: INVALID_NODE_ID. */
export function lagrangeCoefficient(curve: Curve, nodeIds: readonly number[], nodeId: number): bigint {
  const coefficient = lagrangeCoefficients(curve, nodeIds).get(nodeId);
  if (coefficient === undefined) throw new CryptoError('INVALID_NODE_ID', `node ${nodeId} is not in the signer set`);
  return coefficient;
}

/**
 * The value at `at` of the polynomial of degree below `points.length` through these points (Lagrange). Secret when the
 * values are. Duplicate points or ids outside 1..100: INVALID_NODE_ID.
 */
export function interpolateAt(
  curve: Curve,
  points: readonly { readonly x: number; readonly value: bigint }[],
  at: number,
): bigint {
  const { order } = groupOf(curve);
  let sum = 0n;
  for (const [index, { x, value }] of points.entries()) {
    assertNodeId(x);
    let numerator = 1n;
    let denominator = 1n;
    for (const [place, other] of points.entries()) {
      if (place === index) continue;
      if (other.x === x) throw new CryptoError('INVALID_NODE_ID', `node id ${x} appears twice`);
      numerator = modulo(numerator * BigInt(at - other.x), order);
      denominator = modulo(denominator * BigInt(x - other.x), order);
    }
    sum = modulo(sum + value * numerator * invert(denominator, order), order);
  }
  return sum;
}
