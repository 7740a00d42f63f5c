/**
 * NOT CRYPTOGRAPHY: identities whose signature is a hash of the public key and the message. Whoever knows the public key
 * can make one, and nobody in a simulation tries; a signature of another key or another message fails as a real one does.
 */
import { equalBytes, transcriptHash } from '../bytes.ts';
import { sha512 } from '../hashing.ts';
import type { IdentityScheme } from '../identity-ed25519.ts';

export const modelIdentities: IdentityScheme = {
  publicKeyOf: (seed) => transcriptHash('signmesh/model/identity', seed),
  // A public key has 32 bytes, so the two parts need no lengths.
  sign: (secretKey, message) => sha512(secretKey.slice(32), message),
  verify: (publicKey, message, signature) => equalBytes(sha512(publicKey, message), signature),
};
