/**
 * ECDSA by several owners, each with its own key, as an EVM multisig wallet (Safe) checks it.
 *
 * One signature is 65 bytes, r ‖ s ‖ v, with v = 27 + recovery id: s is low and the recovery id 0 or 1, as `ecrecover` takes
 * them. The whole is the signatures of `threshold` owners one after the other, ascending by the owner's address: Safe's
 * `checkNSignatures` (Safe.sol 1.4.1) refuses every other order, so that no owner counts twice. Nonces follow RFC 6979.
 */
import { concatBytes, equalBytes } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { evmAddressOf } from './evm-address.ts';
import { groupOf } from './group.ts';
import { ecdsaChecks, recoverEcdsa } from './mock-ecdsa.ts';

/** Bytes of one owner's signature. */
export const ownerSignatureBytes = 65;
const vOffset = 27;

/** An owner's signature over a 32-byte digest. `secret`: in [1, order). */
export function signAsOwner(secret: bigint, digest: Uint8Array): Uint8Array {
  if (digest.length !== 32) throw new CryptoError('INVALID_MESSAGE', 'the digest is 32 bytes');
  const { signature, recoveryId } = ecdsaChecks.current.sign(groupOf('secp256k1').encodeScalar(secret), digest);
  // An abscissa above the order (chance 2^-127) has no v, so ecrecover could not read it.
  if (recoveryId > 1) throw new CryptoError('INVALID_PARTIAL', 'the nonce point has an abscissa above the order');
  return concatBytes(signature, Uint8Array.of(vOffset + recoveryId));
}

/** Whether the signature is this owner's: it recovers to the owner's key and has a low s. False for anything malformed. */
export function isOwnerSignature(signature: Uint8Array, digest: Uint8Array, owner: Uint8Array): boolean {
  if (signature.length !== ownerSignatureBytes || digest.length !== 32) return false;
  const recoveryId = signature[64]! - vOffset;
  if (recoveryId !== 0 && recoveryId !== 1) return false;
  const rs = signature.slice(0, 64);
  const recovered = recoverEcdsa({ signature: rs, recoveryId, digest });
  return recovered !== undefined && equalBytes(recovered, owner) && ecdsaChecks.current.verify(rs, digest, owner);
}

export interface OwnerSignature {
  /** The owner's key, compressed. */
  readonly owner: Uint8Array;
  readonly signature: Uint8Array;
}

/** Joins the signatures of different owners into one, in the order that Safe requires. The caller must have checked each. */
export function joinOwnerSignatures(signatures: readonly OwnerSignature[]): Uint8Array {
  const placed = signatures.map(({ owner, signature }) => ({ address: evmAddressOf(owner), signature }));
  return concatBytes(...placed.sort((a, b) => Buffer.compare(a.address, b.address)).map(({ signature }) => signature));
}
