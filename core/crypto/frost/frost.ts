/**
 * FROST: two-round threshold Schnorr signatures (RFC 9591; Komlo and Goldberg 2020).
 *
 * In round one the nodes make nonce commitments ahead; in round two each signer answers with one partial signature; the
 * coordinator adds them up. No function here can guarantee that a pair of nonces signs at most once: the caller must, and must
 * delete the nonces before it sends the partial.
 */
import { Variant } from '../backend.ts';
import { concatBytes, equalBytes, type RandomSource, takeRandom } from '../bytes.ts';
import { ed25519Check } from '../ed25519-check.ts';
import { CryptoError } from '../errors.ts';
import { verifyBip340 } from './bip340.ts';
import { type AnyFrostSuite, ciphersuite } from './ciphersuite.ts';
import {
  commitmentOf,
  contextOf,
  type FrostCommitment,
  type FrostContext,
  type FrostRound,
  frostContext,
  sameCommitment,
  shareFactor,
} from './context.ts';

/** A pair of nonces (d_i, e_i), each in [1, order). Secret, to be used once and never stored. */
export interface FrostNonces {
  readonly hiding: bigint;
  readonly binding: bigint;
}

/** A round, optionally with its context if the caller has already computed it. */
export interface FrostRoundWithContext extends FrostRound {
  readonly context?: FrostContext | undefined;
}

/** The public commitments of unused nonces, so that signing need not compute them again. */
const commitmentsOfNonces = new Variant(knownCommitments(), knownCommitments());

function knownCommitments(): WeakMap<FrostNonces, Omit<FrostCommitment, 'nodeId'>> {
  return new WeakMap();
}

/**
 * Makes one pair of nonces: RFC 9591 §4.1 nonce_generate, H3(32 random bytes ‖ secret).
 *
 * The RFC also hashes the signer's key share, as a hedge against a bad random source. Nodes make nonces here before they know
 * the key, so bytes derived from a long-lived secret of the node replace the share.
 *
 * @param hedges 32 secret bytes for each nonce of the pair; different for every nonce, so that a random source that
 *   repeats itself repeats no nonce
 */
export function dealFrostNonce(input: {
  readonly suite: AnyFrostSuite;
  readonly random: RandomSource;
  readonly hedges: { readonly hiding: Uint8Array; readonly binding: Uint8Array };
}): { nonces: FrostNonces; commitments: Omit<FrostCommitment, 'nodeId'> } {
  const { group, nonceHash } = ciphersuite(input.suite);
  const { hedges } = input;
  if (hedges.hiding.length !== 32 || hedges.binding.length !== 32) {
    throw new CryptoError('INVALID_BYTES', 'each hedge is 32 bytes');
  }
  const hiding = nonceHash(takeRandom(input.random, 32), hedges.hiding);
  const binding = nonceHash(takeRandom(input.random, 32), hedges.binding);
  // A nonce of zero (chance 2^-252) throws here, since its commitment would be the identity.
  const commitments = { hiding: group.baseMultiply(hiding), binding: group.baseMultiply(binding) };
  const nonces = Object.freeze({ hiding, binding });
  commitmentsOfNonces.current.set(nonces, { hiding: commitments.hiding.slice(), binding: commitments.binding.slice() });
  return { nonces, commitments };
}

/**
 * One signer's partial signature z_i = d_i + ρ_i·e_i + λ_i·c·x_i, RFC 9591 §5.2.
 *
 * Refuses a round that does not hold this signer's own commitments, as the RFC demands (INVALID_NONCE): otherwise a
 * coordinator could make a signer use nonces under a list that was never announced.
 *
 * @throws as `frostContext`; INVALID_NODE_ID if the node is not in the set; INVALID_SCALAR for a share out of range
 */
export function frostPartial(input: SignerRound): bigint {
  return frostPartialWithPoint(input).partial;
}

/** The inputs of one signer. */
export interface SignerRound extends FrostRound {
  readonly nodeId: number;
  readonly signingShare: bigint;
  readonly nonces: FrostNonces;
}

/** As `frostPartial`; with it the group commitment R that this signer computed, encoded. */
export function frostPartialWithPoint(input: SignerRound): {
  readonly partial: bigint;
  readonly noncePoint: Uint8Array;
} {
  const { nodeId, signingShare, nonces } = input;
  const { group } = ciphersuite(input.suite);
  if (signingShare <= 0n || signingShare >= group.order) {
    throw new CryptoError('INVALID_SCALAR', 'the signing share is outside the group order');
  }
  const announced = input.commitments.find((entry) => entry.nodeId === nodeId);
  if (announced === undefined) throw new CryptoError('INVALID_NODE_ID', `node ${nodeId} is not in the signer set`);
  const own = commitmentsOfNonces.current.get(nonces) ?? {
    hiding: group.baseMultiply(nonces.hiding),
    binding: group.baseMultiply(nonces.binding),
  };
  if (!sameCommitment(announced, own)) {
    throw new CryptoError('INVALID_NONCE', 'the round does not hold the commitments of these nonces');
  }
  const context = contextOf(input, { nodeId, hiding: nonces.hiding, binding: nonces.binding });
  const nonce = nonces.hiding + context.bindingFactors.get(nodeId)! * nonces.binding;
  const signedNonce = context.negateNonces ? -nonce : nonce;
  const partial = (signedNonce + shareFactor(context, nodeId) * signingShare) % group.order;
  return { partial: partial < 0n ? partial + group.order : partial, noncePoint: context.groupCommitment };
}

/**
 * Whether z_i·G = ±(D_i + ρ_i·E_i) + λ_i·c·X_i, RFC 9591 §5.4: finds the culprit when an aggregate does not verify.
 * False for a partial out of range. A malformed round throws as `frostContext` does.
 */
export function verifyFrostPartial(
  input: FrostRoundWithContext & {
    readonly nodeId: number;
    readonly verificationShare: Uint8Array;
    readonly partial: bigint;
  },
): boolean {
  const { nodeId, verificationShare, partial } = input;
  const { group } = ciphersuite(input.suite);
  const context = input.context ?? frostContext(input);
  const { hiding, binding } = commitmentOf(context, nodeId);
  if (partial < 0n || partial >= group.order || !group.isValidPoint(verificationShare)) return false;
  const rho = context.bindingFactors.get(nodeId)!;
  const factor = shareFactor(context, nodeId);
  const negated = (scalar: bigint) => (group.order - scalar) % group.order;
  try {
    // Solved for D_i, so that one comparison of encodings remains. With an odd R, D_i and E_i enter negated.
    const expected = context.negateNonces
      ? group.linearCombination(negated(partial), [
          [factor, verificationShare],
          [negated(rho), binding],
        ])
      : group.linearCombination(partial, [
          [negated(factor), verificationShare],
          [negated(rho), binding],
        ]);
    return equalBytes(expected, hiding);
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}

/**
 * The signature from the partials of all signers of the round, RFC 9591 §5.3. It is not verified here: the caller
 * verifies it once (`verifySchnorr`) and, if that fails, checks partial by partial (`verifyFrostPartial`).
 *
 * @returns R ‖ z: 64 bytes (BIP-340: R.x ‖ z); 65 for the plain secp256k1 suite
 * @throws as `frostContext`; INVALID_PARTIAL (naming the node) for a missing or surplus partial, or one out of range
 */
export function frostAggregate(
  input: FrostRoundWithContext & {
    readonly partials: readonly { readonly nodeId: number; readonly partial: bigint }[];
  },
): Uint8Array {
  const { suite, partials } = input;
  const { nodeIds, groupCommitment } = input.context ?? frostContext(input);
  return frostAggregateAt({ suite, nodeIds, noncePoint: groupCommitment, partials });
}

/**
 * The same with R as a signer claims it, for a caller that avoids the computation. If the signature verifies, R was right: no
 * other R gives a valid one. If not, R or a partial was wrong, and the caller computes R itself.
 *
 * @param nodeIds all signers of the round
 * @throws INVALID_PARTIAL as `frostAggregate`; INVALID_POINT for an R of the wrong length
 */
export function frostAggregateAt(input: {
  readonly suite: AnyFrostSuite;
  readonly nodeIds: readonly number[];
  readonly noncePoint: Uint8Array;
  readonly partials: readonly { readonly nodeId: number; readonly partial: bigint }[];
}): Uint8Array {
  const { noncePoint: R, partials } = input;
  const { group, xOnly } = ciphersuite(input.suite);
  if (R.length !== group.pointBytes) throw new CryptoError('INVALID_POINT', 'R is no encoded point');
  const open = new Set(input.nodeIds);
  let z = 0n;
  for (const { nodeId, partial } of partials) {
    if (!open.delete(nodeId) || partial < 0n || partial >= group.order) {
      throw new CryptoError('INVALID_PARTIAL', `the partial of node ${nodeId} is invalid or surplus`, [nodeId]);
    }
    z = (z + partial) % group.order;
  }
  if (open.size > 0) throw new CryptoError('INVALID_PARTIAL', `partials are missing: ${[...open].join(', ')}`);
  return concatBytes(xOnly ? R.subarray(1) : R, group.encodeScalar(z));
}

/**
 * Whether `signature` signs `message` under `publicKey` (an encoded point; for BIP-340 an x-only key of 32 bytes too).
 * Ed25519: RFC 8032 §5.1.7. BIP-340: uses the point with an even y. False for anything malformed.
 */
export function verifySchnorr(
  suite: AnyFrostSuite,
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  const { group, challenge } = ciphersuite(suite);
  switch (suite) {
    case 'FROST-ED25519-SHA512-v1':
      if (publicKey.length !== 32 || signature.length !== 64) return false;
      return ed25519Check.current(publicKey, message, signature);
    case 'FROST-secp256k1-SHA256-TR-v1':
      if (publicKey.length === 33 && !group.isValidPoint(publicKey)) return false;
      return verifyBip340(signature, message, publicKey.length === 33 ? publicKey.subarray(1) : publicKey);
    case 'FROST-secp256k1-SHA256-v1': {
      if (signature.length !== 65 || !group.isValidPoint(publicKey)) return false;
      const R = signature.subarray(0, 33);
      try {
        const z = group.decodeScalar(signature.subarray(33));
        const c = challenge(R, publicKey, message);
        return equalBytes(group.linearCombination(z, [[(group.order - c) % group.order, publicKey]]), R);
      } catch (error) {
        if (error instanceof CryptoError) return false;
        throw error;
      }
    }
  }
}
