/**
 * Checks a PKCS#11 token's signatures: its proof that it has the key, and the form for chains.
 *
 * A token gives r ‖ s of ECDSA (PKCS #11 3.0, §2.3.6), where s may be high and the recovery id is missing; this file derives
 * both from digest and public key.
 */
import { concatBytes, equalBytes, transcriptHash, u32be, utf8 } from './bytes.ts';
import { ed25519Check } from './ed25519-check.ts';
import type { Curve } from './group.ts';
import { groupOf } from './group.ts';
import { ecdsaChecks, recoverEcdsa, verifyEcdsa } from './mock-ecdsa.ts';
import { bigEndian32, integerAt } from './scalar.ts';

/** The 32 bytes that a token signs to prove that it has the key of an attempt. */
export function hsmChallenge({ curve, context, dealerId }: HsmStatement): Uint8Array {
  return transcriptHash('signmesh/hsm-possession/v1', utf8(curve), u32be(dealerId), context);
}

export interface HsmStatement {
  readonly curve: Curve;
  readonly context: Uint8Array;
  readonly dealerId: number;
}

/** Whether `proof` is a signature of the challenge in the token's form. False for anything malformed. */
export function verifyHsmPossession(
  input: HsmStatement & { readonly proof: Uint8Array; readonly publicKey: Uint8Array },
): boolean {
  return hsmSignature(input.curve, input.proof, hsmChallenge(input), input.publicKey) !== undefined;
}

/**
 * A token's signature in the form that leaves the cluster: ECDSA r ‖ s with low s and the recovery id behind it, 65 bytes;
 * Ed25519 64 bytes. Undefined: it is no signature of `message` under `publicKey`.
 */
export function hsmSignature(
  curve: Curve,
  given: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): Uint8Array | undefined {
  if (given.length !== 64) return undefined;
  if (curve === 'ed25519') return ed25519Check.current(publicKey, message, given) ? given.slice() : undefined;
  const { order } = groupOf('secp256k1');
  const s = integerAt(given, 32);
  if (s === 0n || s >= order) return undefined;
  const signature = concatBytes(given.subarray(0, 32), bigEndian32(s > order / 2n ? order - s : s));
  if (!verifyEcdsa({ signature, digest: message, publicKey })) return undefined;
  for (const recoveryId of [0, 1, 2, 3]) {
    const recovered = recoverEcdsa({ signature, recoveryId, digest: message });
    if (recovered !== undefined && equalBytes(recovered, publicKey)) {
      return concatBytes(signature, Uint8Array.of(recoveryId));
    }
  }
  return undefined;
}

/** Whether a partial has the form and content that `hsmSignature` returns. */
export function isHsmSignature(curve: Curve, partial: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (curve === 'ed25519') return partial.length === 64 && ed25519Check.current(publicKey, message, partial);
  if (partial.length !== 65) return false;
  const signature = partial.slice(0, 64);
  return (
    verifyEcdsa({ signature, digest: message, publicKey }) &&
    ecdsaChecks.current.recoversTo(publicKey, signature, partial[64]!, message)
  );
}
