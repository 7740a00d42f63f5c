/**
 * Ed25519 identities (RFC 8032): every node and the coordinator has one; frames, commitments and sealing keys are
 * signed with it, and the cluster's roster pins the public keys.
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
