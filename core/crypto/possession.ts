/**
 * Schnorr proof of possession of a dealer's constant term (Komlo and Goldberg 2020, "FROST", figure 1, round 1 step 2).
 *
 * Without it a dealer that speaks last could choose its commitment as X − Σ φ_j and so fix the group key to a key X of
 * its own (a rogue key). The challenge binds the dealer's id and a context (tenant, session, attempt, roster), so that a
 * proof cannot be replayed by another dealer or in another session.
 */
import { concatBytes, encodeParts, equalBytes, type RandomSource, takeRandom, u32be, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { type Curve, groupOf } from './group.ts';
import { sha512 } from './hashing.ts';
import { assertNodeId } from './polynomial.ts';

/** The statement of a proof. `context` may be any bytes; both sides must build the same. */
export interface PossessionStatement {
  readonly curve: Curve;
  readonly context: Uint8Array;
  readonly dealerId: number;
}

/**
 * Proves knowledge of `secret` for the public point `secret`·G.
 *
 * The nonce is hashed from fresh randomness, the secret and the whole statement, so that a broken random source
 * by itself does not reveal the secret.
 *
 * @returns R ‖ μ: an encoded point and a 32-byte scalar (65 bytes for secp256k1, 64 for ed25519)
 */
export function provePossession(
  input: PossessionStatement & {
    readonly secret: bigint;
    /** `secret`·G. */
    readonly publicKey: Uint8Array;
    readonly random: RandomSource;
  },
): Uint8Array {
  const { curve, secret, publicKey, context, dealerId, random } = input;
  assertNodeId(dealerId);
  const group = groupOf(curve);
  const nonce = hashToScalar(
    curve,
    'signmesh/possession-nonce/v1',
    takeRandom(random, 32),
    group.encodeScalar(secret),
    u32be(dealerId),
    context,
  );
  const commitment = group.baseMultiply(nonce);
  const response = (nonce + secret * challenge(input, publicKey, commitment)) % group.order;
  return concatBytes(commitment, group.encodeScalar(response));
}

/** Whether `proof` shows possession of the discrete logarithm of `publicKey`. False for anything malformed. */
export function verifyPossession(
  input: PossessionStatement & { readonly proof: Uint8Array; readonly publicKey: Uint8Array },
): boolean {
  const { curve, proof, publicKey, dealerId } = input;
  assertNodeId(dealerId);
  const group = groupOf(curve);
  if (proof.length !== group.pointBytes + 32) return false;
  const commitment = proof.subarray(0, group.pointBytes);
  try {
    const response = group.decodeScalar(proof.subarray(group.pointBytes));
    const c = challenge(input, publicKey, commitment);
    // It would leave the public key out of the equation, and unchecked.
    if (c === 0n) return false;
    // R = μ·G − c·φ. Comparing encodings also refuses every R that is not the canonical encoding of a valid point.
    const expected = group.linearCombination(response, [[group.order - c, publicKey]]);
    return equalBytes(expected, commitment);
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}

function challenge(statement: PossessionStatement, publicKey: Uint8Array, commitment: Uint8Array): bigint {
  const { curve, dealerId, context } = statement;
  return hashToScalar(curve, 'signmesh/possession/v1', u32be(dealerId), context, publicKey, commitment);
}

/** SHA-512 over the injectively encoded parts, reduced: 512 bits make the bias negligible. */
function hashToScalar(curve: Curve, tag: string, ...parts: readonly Uint8Array[]): bigint {
  return groupOf(curve).reduce(sha512(encodeParts(utf8(tag), utf8(curve), ...parts)));
}
