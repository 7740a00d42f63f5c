/**
 * Ed25519 identities (RFC 8032): every node, the coordinator and the gateways have one; frames, commitments and sealing
 * keys are signed with it, and the cluster's roster pins the public keys. Two identities agree on a secret (X25519).
 */
import { Variant } from './backend.ts';
import { concatBytes } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { ed25519Identities, type IdentityScheme } from './identity-ed25519.ts';

/** The scheme in use. */
export const identityScheme = new Variant<IdentityScheme>(ed25519Identities);

/** An identity. `secretKey` is opaque (64 bytes: the seed and the public key) and secret. */
export interface Identity {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

/** The identity of a seed of 32 secret bytes (RFC 8032 §5.1.5); another length: INVALID_BYTES. */
export function identityFromSeed(seed: Uint8Array): Identity {
  if (seed.length !== 32) throw new CryptoError('INVALID_BYTES', 'the seed of an identity is 32 bytes');
  const publicKey = identityScheme.current.publicKeyOf(seed);
  return { publicKey, secretKey: concatBytes(seed, publicKey) };
}

/** The 64-byte signature of `message` (any length), deterministic. `secretKey` is an identity's; else INVALID_BYTES. */
export function sign(secretKey: Uint8Array, message: Uint8Array): Uint8Array {
  if (secretKey.length !== 64) throw new CryptoError('INVALID_BYTES', 'the secret key of an identity is 64 bytes');
  return identityScheme.current.sign(secretKey, message);
}

/** Whether the 64-byte `signature` signs `message` under the 32-byte `publicKey`. False for anything malformed. */
export function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  return identityScheme.current.verify(publicKey, message, signature);
}

/**
 * A secret that only the holders of two identities can compute: X25519 (RFC 7748) between their keys, mapped to
 * Curve25519 (RFC 7748 §4.1; Thormarker 2021, "On using the same key pair for Ed25519 and an X25519 based KEM"). It is
 * constant while the identities are; derive keys from it (HKDF), and never use it as a key.
 *
 * @param secretKey of one identity; @param otherPublicKey of the other
 * @throws INVALID_BYTES for a wrong length, INVALID_POINT for an invalid public key
 */
export function agreedSecret(secretKey: Uint8Array, otherPublicKey: Uint8Array): Uint8Array {
  if (secretKey.length !== 64) throw new CryptoError('INVALID_BYTES', 'the secret key of an identity is 64 bytes');
  if (otherPublicKey.length !== 32) throw new CryptoError('INVALID_BYTES', 'the public key of an identity is 32 bytes');
  return identityScheme.current.agree(secretKey, otherPublicKey);
}
