/** The checkers' verifier of signatures: by default another library than the one that signed. */
import { type ReleasedKind, verifyReleased } from '../../../core/crypto/frost/released.ts';

/**
 * Whether a signature (64 bytes) is one of `message` under `publicKey` (compressed: 33 bytes, ed25519: 32). False for malformed
 * input. `message`: the digest for secp256k1.
 */
export type SignatureVerifier = (input: {
  readonly scheme: ReleasedKind;
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}) => boolean;

export const releasedVerifier: SignatureVerifier = ({ scheme, publicKey, message, signature }) =>
  verifyReleased(scheme, publicKey, message, signature);
