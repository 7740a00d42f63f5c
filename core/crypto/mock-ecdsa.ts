/**
 * Mock threshold ECDSA: honest arithmetic with a mock nonce.
 *
 * THE NONCE IS DISCLOSED. A party that knows k computes the group's secret key from one signature: x = (s·k − m)/r. The
 * coordinator, and every node that learns k, can do so: a key that signed once this way has no threshold security left,
 * under any scheme. This is a test double with real shares, real blame and real signatures.
 *
 * Each of t nodes makes a nonce k_j; k = Σ k_j, R = k·G, r = R.x mod q. Node i answers s_i = k⁻¹(m + r·x_i), a Shamir
 * share of s, so that any t of the n partials give s = Σ λ_i·s_i, with nonces of any dealer. ECDSA: SEC 1 §4.1; m is the
 * digest as a big-endian integer modulo q.
 */
import { Variant } from './backend.ts';
import { concatBytes, type RandomSource } from './bytes.ts';
import { type EcdsaChecks, secp256k1Ecdsa } from './ecdsa-secp256k1.ts';
import { CryptoError } from './errors.ts';
import { groupOf } from './group.ts';
import { lagrangeCoefficients } from './polynomial.ts';
import { bigEndian32, integerAt, integerFromBigEndian, invert } from './scalar.ts';

/** The checks in use. */
export const ecdsaChecks = new Variant<EcdsaChecks>(secp256k1Ecdsa);

const q = groupOf('secp256k1').order;

/** A nonce in the coordinator. */
export interface MockNonce {
  /** k⁻¹ modulo q. Known to coordinator and quorum (the mock), secret to all others. */
  readonly kInverse: bigint;
  /** k·G, 33 bytes. */
  readonly R: Uint8Array;
  /** R.x modulo q, in [1, q). */
  readonly r: bigint;
}

/** The public half of a signing round: the inputs for checking partials. */
export interface MockEcdsaRound {
  readonly R: Uint8Array;
  readonly r: bigint;
  /** 32 bytes. */
  readonly digest: Uint8Array;
}

/** One node's partial signature s_i, in [1, q). */
export interface MockEcdsaPartial {
  readonly nodeId: number;
  readonly partial: bigint;
}

/** One node's contribution to the nonce: a uniform scalar in [1, q). Secret; use it once. */
export function dealMockNonce(random: RandomSource): bigint {
  return groupOf('secp256k1').randomScalar(random);
}

/** Adds the contributions up. None, or a sum that is zero: INVALID_NONCE. */
export function combineMockNonces(contributions: readonly bigint[]): MockNonce {
  let k = 0n;
  for (const contribution of contributions) {
    if (contribution <= 0n || contribution >= q) throw new CryptoError('INVALID_NONCE', 'a nonce is outside [1, q)');
    k = (k + contribution) % q;
  }
  if (k === 0n) throw new CryptoError('INVALID_NONCE', 'the nonces cancel each other out');
  const R = groupOf('secp256k1').baseMultiply(k);
  const r = integerAt(R, 1) % q;
  if (r === 0n) throw new CryptoError('INVALID_NONCE', 'r is zero');
  return { kInverse: invert(k, q), R, r };
}

/** s_i = k⁻¹(m + r·x_i) mod q. A zero (chance 2^-256): INVALID_PARTIAL. */
export function mockEcdsaPartial(input: {
  readonly kInverse: bigint;
  readonly r: bigint;
  readonly digest: Uint8Array;
  readonly signingShare: bigint;
}): bigint {
  const { kInverse, r, digest, signingShare } = input;
  const partial = (kInverse * ((messageScalar(digest) + r * signingShare) % q)) % q;
  if (partial <= 0n) throw new CryptoError('INVALID_PARTIAL', 'the partial signature is zero');
  return partial;
}

/**
 * Whether s_i·R = m·G + r·X_i, computed without secrets. False for anything malformed.
 *
 * It does not verify (r, s_i) as a signature, which would accept −s_i as well.
 */
export function verifyMockEcdsaPartial(
  input: MockEcdsaRound & { readonly verificationShare: Uint8Array; readonly partial: bigint },
): boolean {
  const { R, r, digest, verificationShare, partial } = input;
  if (partial <= 0n || partial >= q || R.length !== 33 || digest.length !== 32) return false;
  if (R[0] !== 2 && R[0] !== 3) return false;
  const abscissa = integerAt(R, 1);
  if (r <= 0n || abscissa % q !== r) return false;
  const recoveryId = (R[0]! & 1) | (abscissa >= q ? 2 : 0);
  const signature = concatBytes(bigEndian32(r), bigEndian32(partial));
  return ecdsaChecks.current.recoversTo(verificationShare, signature, recoveryId, digest);
}

/**
 * Interpolates the partials of any t distinct nodes to a signature. The caller verifies it (`verifyEcdsa`) under the
 * group key, and on failure finds the culprit with `verifyMockEcdsaPartial`.
 *
 * @returns `signature` r ‖ s, 64 bytes, low-s (BIP-62 rule 5, BIP-146), and the recovery id 0..3 that recovers the key
 * @throws INVALID_NODE_ID for duplicates, INVALID_PARTIAL (naming the node) for one out of range, AGGREGATE_INVALID
 */
export function aggregateMockEcdsa(input: {
  readonly R: Uint8Array;
  readonly r: bigint;
  readonly partials: readonly MockEcdsaPartial[];
}): { signature: Uint8Array; recoveryId: number } {
  const { R, r, partials } = input;
  const lambdas = lagrangeCoefficients(
    'secp256k1',
    partials.map(({ nodeId }) => nodeId),
  );
  let s = 0n;
  for (const { nodeId, partial } of partials) {
    if (partial <= 0n || partial >= q) {
      throw new CryptoError('INVALID_PARTIAL', `the partial of node ${nodeId} is out of range`, [nodeId]);
    }
    s = (s + lambdas.get(nodeId)! * partial) % q;
  }
  if (s === 0n) throw new CryptoError('AGGREGATE_INVALID', 'the partials add up to zero');
  // The negated s belongs to the nonce −k, whose point has the other parity.
  const flipped = s > q / 2n;
  const abscissa = integerAt(R, 1);
  const recoveryId = ((R[0]! & 1) ^ (flipped ? 1 : 0)) | (abscissa >= q ? 2 : 0);
  return { signature: concatBytes(bigEndian32(r), bigEndian32(flipped ? q - s : s)), recoveryId };
}

/**
 * Whether `signature` (r ‖ s, 64 bytes) is a low-s ECDSA signature of the 32-byte `digest` under the 33-byte
 * `publicKey`. False for a high s and for anything malformed.
 */
export function verifyEcdsa(input: {
  readonly signature: Uint8Array;
  readonly digest: Uint8Array;
  readonly publicKey: Uint8Array;
}): boolean {
  const { signature, digest, publicKey } = input;
  if (signature.length !== 64 || digest.length !== 32 || publicKey.length !== 33) return false;
  return ecdsaChecks.current.verify(signature, digest, publicKey);
}

/** The public key (33 bytes) that a signature recovers to, or undefined where there is none. SEC 1 §4.1.6. */
export function recoverEcdsa(input: {
  readonly signature: Uint8Array;
  readonly recoveryId: number;
  readonly digest: Uint8Array;
}): Uint8Array | undefined {
  return ecdsaChecks.current.recover(input.signature, input.recoveryId, input.digest);
}

function messageScalar(digest: Uint8Array): bigint {
  if (digest.length !== 32) throw new CryptoError('INVALID_MESSAGE', 'the digest is 32 bytes');
  return integerFromBigEndian(digest) % q;
}
