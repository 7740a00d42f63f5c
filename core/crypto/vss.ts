/**
 * Feldman's verifiable secret sharing (Feldman 1987; RFC 9591 Appendix C.2) and its sum over all dealers (Pedersen 1991).
 *
 * A dealer commits to its polynomial by φ_k = a_k·G. The share f(i) of node i is valid when f(i)·G = Σ i^k·φ_k. The sum
 * of all dealers' commitments is the group polynomial in the exponent: its constant term is the group key, its value at
 * i is node i's verification share.
 */
import { equalBytes } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { type Curve, groupOf } from './group.ts';
import { assertNodeId, evaluate, type Polynomial } from './polynomial.ts';

/** The dealer's public commitments: one encoded point a coefficient, constant term first. */
export function commitTo(curve: Curve, polynomial: Polynomial): Uint8Array[] {
  const group = groupOf(curve);
  return polynomial.map((coefficient) => group.baseMultiply(coefficient));
}

/** The share that the dealer gives to `recipientId` (1..100). Secret. A share of zero (chance 2^-252): INVALID_SHARE. */
export function shareFor(curve: Curve, polynomial: Polynomial, recipientId: number): bigint {
  assertNodeId(recipientId);
  const share = evaluate(curve, polynomial, recipientId);
  if (share === 0n) throw new CryptoError('INVALID_SHARE', 'the share is zero: deal another polynomial');
  return share;
}

/**
 * Whether `share` is the dealer's polynomial at `recipientId`, given its commitments. False also for a share of zero or
 * outside the group order, and for commitments that are not valid points: it never throws on a dealer's input.
 */
export function verifyShare(
  curve: Curve,
  share: bigint,
  recipientId: number,
  commitments: readonly Uint8Array[],
): boolean {
  assertNodeId(recipientId);
  const group = groupOf(curve);
  if (share <= 0n || share >= group.order || !commitments.every(group.isValidPoint)) return false;
  try {
    return equalBytes(group.baseMultiply(share), group.evaluateAt(commitments, recipientId));
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}

/** Throws INVALID_COMMITMENTS unless there are exactly `threshold` valid points of the curve. */
export function validateCommitments(curve: Curve, commitments: readonly Uint8Array[], threshold: number): void {
  if (commitments.length !== threshold) {
    throw new CryptoError('INVALID_COMMITMENTS', `expected ${threshold} commitments, got ${commitments.length}`);
  }
  const group = groupOf(curve);
  const bad = commitments.findIndex((commitment) => !group.isValidPoint(commitment));
  if (bad >= 0) throw new CryptoError('INVALID_COMMITMENTS', `commitment ${bad} is not a valid point of ${curve}`);
}

/**
 * The commitments to the group polynomial: the sums of all dealers' commitments, coefficient by coefficient.
 *
 * @param commitmentsOfAllDealers one list a dealer, dealer 1 first, all of the same length
 * @throws INVALID_COMMITMENTS naming the dealer's place in the list as culprit; IDENTITY_POINT if a sum cancels out
 */
export function combineCommitments(
  curve: Curve,
  commitmentsOfAllDealers: readonly (readonly Uint8Array[])[],
): Uint8Array[] {
  const group = groupOf(curve);
  const threshold = commitmentsOfAllDealers[0]?.length ?? 0;
  refuseDealer(commitmentsOfAllDealers, (commitments) => threshold > 0 && commitments.length === threshold);
  refuseDealer(commitmentsOfAllDealers, (commitments) => commitments.every(group.isValidPoint));
  return Array.from({ length: threshold }, (_, k) =>
    group.sum(commitmentsOfAllDealers.map((commitments) => commitments[k]!)),
  );
}

/** Throws INVALID_COMMITMENTS for the first dealer whose commitments do not pass. */
function refuseDealer(
  commitmentsOfAllDealers: readonly (readonly Uint8Array[])[],
  passes: (commitments: readonly Uint8Array[]) => boolean,
): void {
  const index = commitmentsOfAllDealers.findIndex((commitments) => !passes(commitments));
  if (index < 0) return;
  throw new CryptoError('INVALID_COMMITMENTS', `dealer ${index + 1} has invalid commitments`, [index + 1]);
}

/** The nodes' public verification shares X_i = x_i·G, from the group polynomial in the exponent. The ids ascend. */
export function verificationShares(
  curve: Curve,
  groupCommitments: readonly Uint8Array[],
  nodeIds: readonly number[],
): Uint8Array[] {
  for (const nodeId of nodeIds) assertNodeId(nodeId);
  return groupOf(curve).evaluateAtEach(groupCommitments, nodeIds);
}
