/**
 * NOT CRYPTOGRAPHY: identities whose signature is a hash of the public key and the message, and whose agreed secret is a hash
 * of both public keys. Both follow from the public keys, and no simulated process forges another's signature; a signature of
 * another key or another message fails as a real one does.
 */
import { equalBytes, latin1, transcriptHash, utf8 } from '../bytes.ts';
import { sha512 } from '../hashing.ts';
import type { IdentityScheme } from '../identity-ed25519.ts';

export const modelIdentities: IdentityScheme = {
  publicKeyOf: (seed) => transcriptHash('signmesh/model/identity', seed),
  // A public key has 32 bytes, so the two parts need no lengths.
  sign: (secretKey, message) => sha512(secretKey.slice(32), message),
  verify: (publicKey, message, signature) => equalBytes(sha512(publicKey, message), signature),
  // The same for both parties, and different for every pair; it follows from the roster.
  agree(secretKey, otherPublicKey) {
    const pair = [latin1(secretKey.slice(32)), latin1(otherPublicKey)].sort();
    return transcriptHash('signmesh/model/agreement', utf8(pair.join('')));
  },
};
