/**
 * The values that every party of a FROST signing round computes from public values: binding factors, group commitment and
 * challenge (RFC 9591 §4.3 to §4.6). The coordinator computes it once and uses it for aggregation and blame.
 *
 * Invariant: the signer set is sorted by node id, has no duplicates, and every commitment is a valid point other than the
 * identity; a context is never built from anything else.
 */
import { concatBytes, equalBytes } from '../bytes.ts';
import { CryptoError } from '../errors.ts';
import { type Group, groupOf } from '../group.ts';
import { assertNodeId, lagrangeCoefficient } from '../polynomial.ts';
import { type AnyFrostSuite, type Ciphersuite, ciphersuite } from './ciphersuite.ts';

/** One signer's pair of nonce commitments: D_i (hiding) and E_i (binding), encoded points. */
export interface FrostCommitment {
  readonly nodeId: number;
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
}

/** The public inputs of a round. `groupPublicKey` is the (derived) key that the signature must verify under. */
export interface FrostRound {
  readonly suite: AnyFrostSuite;
  readonly groupPublicKey: Uint8Array;
  readonly message: Uint8Array;
  /** One entry a signer, in any order. */
  readonly commitments: readonly FrostCommitment[];
}

/** The result of `frostContext`, all public. It belongs to one round and must not be used with another. */
export interface FrostContext {
  readonly suite: AnyFrostSuite;
  /** Sorted by node id. */
  readonly commitments: readonly FrostCommitment[];
  readonly nodeIds: readonly number[];
  /** ρ_i by node id. */
  readonly bindingFactors: ReadonlyMap<number, bigint>;
  /** R = Σ (D_i + ρ_i·E_i), an encoded point. */
  readonly groupCommitment: Uint8Array;
  readonly challenge: bigint;
  /** BIP-340 only: the nonces are negated, since R has an odd y. */
  readonly negateNonces: boolean;
  /** BIP-340 only: the key shares are negated, since the group key has an odd y. */
  readonly negateKey: boolean;
}

/**
 * Validates a round and computes its context.
 *
 * @throws INVALID_POINT (naming the signer whose commitment it is), INVALID_NODE_ID, INVALID_COMMITMENTS if there are
 * none, IDENTITY_POINT if the group commitment cancels out
 */
export function frostContext(round: FrostRound): FrostContext {
  return contextOf(round, undefined);
}

/** Checks the form of a round and that its signers are distinct; of its points only the lengths. Throws as `frostContext`. */
export function assertFrostRound(round: FrostRound): void {
  sortedCommitments(ciphersuite(round.suite).group, round.commitments);
}

/** As `frostContext`, for a signer: its own term of R is one base multiplication, since it knows the nonces. */
export function contextOf(
  round: FrostRound,
  own: { readonly nodeId: number; readonly hiding: bigint; readonly binding: bigint } | undefined,
): FrostContext {
  const suite = ciphersuite(round.suite);
  const { group } = suite;
  if (!group.isValidPoint(round.groupPublicKey)) throw new CryptoError('INVALID_POINT', 'invalid group public key');
  const commitments = sortedCommitments(group, round.commitments);
  const publicKey = evenY(suite, round.groupPublicKey);
  const bindingFactors = bindingFactorsOf(suite, publicKey, round.message, commitments);

  const addends: Uint8Array[] = [];
  for (const { nodeId, hiding, binding } of commitments) {
    const rho = bindingFactors.get(nodeId)!;
    if (own !== undefined && own.nodeId === nodeId) {
      addends.push(group.baseMultiply((own.hiding + rho * own.binding) % group.order));
      continue;
    }
    // Multiplication checks the binding commitment.
    if (!group.isValidPoint(hiding)) throw invalidCommitment(nodeId);
    addends.push(hiding);
    if (rho === 0n && !group.isValidPoint(binding)) throw invalidCommitment(nodeId);
    if (rho !== 0n) addends.push(multiplyCommitment(group, binding, rho, nodeId));
  }
  const groupCommitment = group.sum(addends);
  return {
    suite: round.suite,
    commitments,
    nodeIds: commitments.map(({ nodeId }) => nodeId),
    bindingFactors,
    groupCommitment,
    challenge: suite.challenge(groupCommitment, publicKey, round.message),
    negateNonces: suite.xOnly && groupCommitment[0] === 3,
    negateKey: suite.xOnly && round.groupPublicKey[0] === 3,
  };
}

/** c·λ_i, with the sign that BIP-340's even group key requires: the factor of one signer's key share. */
export function shareFactor(context: FrostContext, nodeId: number): bigint {
  const { curve, group } = ciphersuite(context.suite);
  const factor = (context.challenge * lagrangeCoefficient(curve, context.nodeIds, nodeId)) % group.order;
  return context.negateKey ? (group.order - factor) % group.order : factor;
}

/** The commitment of one signer in the round; an id outside the set: INVALID_NODE_ID. */
export function commitmentOf(context: FrostContext, nodeId: number): FrostCommitment {
  const commitment = context.commitments.find((entry) => entry.nodeId === nodeId);
  if (commitment === undefined) throw new CryptoError('INVALID_NODE_ID', `node ${nodeId} is not in the signer set`);
  return commitment;
}

/** Whether both halves of a pair of nonce commitments are valid points. */
export function isValidFrostCommitment(suite: AnyFrostSuite, commitment: Omit<FrostCommitment, 'nodeId'>): boolean {
  const group = groupOf(ciphersuite(suite).curve);
  return group.isValidPoint(commitment.hiding) && group.isValidPoint(commitment.binding);
}

function sortedCommitments(group: Group, commitments: readonly FrostCommitment[]): FrostCommitment[] {
  if (commitments.length === 0) throw new CryptoError('INVALID_COMMITMENTS', 'there are no commitments');
  const sorted = [...commitments].sort((a, b) => a.nodeId - b.nodeId);
  for (const [index, { nodeId, hiding, binding }] of sorted.entries()) {
    assertNodeId(nodeId);
    if (sorted[index + 1]?.nodeId === nodeId) {
      throw new CryptoError('INVALID_NODE_ID', `node id ${nodeId} appears twice`);
    }
    // Lengths must be checked before the list is hashed: the RFC's encoding has no length prefixes.
    if (hiding.length !== group.pointBytes || binding.length !== group.pointBytes) throw invalidCommitment(nodeId);
  }
  return sorted;
}

/** RFC 9591 §4.3 and §4.4: ρ_i = H1(group key ‖ H4(message) ‖ H5(encoded commitments) ‖ i). */
function bindingFactorsOf(
  { group, bindingHash, messageHash, commitmentHash }: Ciphersuite,
  publicKey: Uint8Array,
  message: Uint8Array,
  commitments: readonly FrostCommitment[],
): Map<number, bigint> {
  const identifiers: Uint8Array[] = [];
  const encoded: Uint8Array[] = [];
  for (const { nodeId, hiding, binding } of commitments) {
    const identifier = group.encodeScalar(BigInt(nodeId));
    identifiers.push(identifier);
    encoded.push(identifier, hiding, binding);
  }
  const prefix = concatBytes(publicKey, messageHash(message), commitmentHash(concatBytes(...encoded)));
  const factors = new Map<number, bigint>();
  for (let index = 0; index < commitments.length; index += 1) {
    factors.set(commitments[index]!.nodeId, bindingHash(prefix, identifiers[index]!));
  }
  return factors;
}

/** BIP-340 interprets the group key as the point with an even y. */
function evenY(suite: Ciphersuite, publicKey: Uint8Array): Uint8Array {
  return suite.xOnly && publicKey[0] === 3 ? suite.group.negate(publicKey) : publicKey;
}

function multiplyCommitment(group: Group, binding: Uint8Array, rho: bigint, nodeId: number): Uint8Array {
  try {
    return group.multiply(binding, rho);
  } catch (error) {
    if (error instanceof CryptoError) throw invalidCommitment(nodeId);
    throw error;
  }
}

function invalidCommitment(nodeId: number): CryptoError {
  return new CryptoError('INVALID_POINT', `the nonce commitment of node ${nodeId} is not a valid point`, [nodeId]);
}

/** Whether two pairs of commitments are the same points. */
export function sameCommitment(a: Omit<FrostCommitment, 'nodeId'>, b: Omit<FrostCommitment, 'nodeId'>): boolean {
  return equalBytes(a.hiding, b.hiding) && equalBytes(a.binding, b.binding);
}
