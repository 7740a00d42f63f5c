/**
 * Sealing of shares between nodes: a box that only the recipient's per-session key opens.
 *
 * Every box has its own ephemeral X25519 key pair (RFC 7748). The shared secret goes through HKDF-SHA-256
 * (RFC 5869) with both public keys and the associated data in `info`, and ChaCha20-Poly1305 (RFC 8439) seals. The key is
 * fresh with every box, so the nonce may be fixed. A box does not name its sender: the sender signs the frame that
 * carries it, and the associated data names tenant, session, attempt, sender, recipient and roster.
 *
 * A recipient that complains about a share reveals its per-session sealing key: any holder of the signed box then opens it with
 * `open` and decides who cheated. The key also opens every other box to that recipient in that session, and no box of another
 * session.
 *
 * Box: 32 bytes ephemeral public key ‖ ciphertext ‖ 16 bytes tag.
 */
import { Variant } from './backend.ts';
import { equalBytes, type RandomSource, takeRandom } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { type SealingKeyPair, type SealingScheme, sealBroken, x25519Sealing } from './sealing-x25519.ts';

/** The scheme in use. */
export const sealingScheme = new Variant<SealingScheme>(x25519Sealing);

/** Bytes that a box is longer than its plaintext. */
export const SEAL_OVERHEAD_BYTES = 48;

/** The key pair of 32 secret random bytes, one for each session; another length: INVALID_BYTES. */
export function sealingKeyPair(seed: Uint8Array): SealingKeyPair {
  if (seed.length !== 32) throw new CryptoError('INVALID_BYTES', 'the seed of a sealing key is 32 bytes');
  return { publicKey: sealingScheme.current.publicKeyOf(seed), secretKey: seed.slice() };
}

/** Whether a revealed secret key is the one behind an announced public key. False for wrong lengths. */
export function sealingKeyMatches(secretKey: Uint8Array, publicKey: Uint8Array): boolean {
  return secretKey.length === 32 && equalBytes(sealingScheme.current.publicKeyOf(secretKey), publicKey);
}

/**
 * Seals `plaintext` to `recipientPublicKey`, bound to `associatedData` (which is not part of the box).
 *
 * @param random gives the 32 bytes of the ephemeral key
 * @throws SEAL_BROKEN for a public key of small order, INVALID_BYTES for a wrong length
 */
export function seal(input: {
  readonly recipientPublicKey: Uint8Array;
  readonly plaintext: Uint8Array;
  readonly associatedData: Uint8Array;
  readonly random: RandomSource;
}): Uint8Array {
  const { recipientPublicKey, plaintext, associatedData, random } = input;
  if (recipientPublicKey.length !== 32) throw new CryptoError('INVALID_BYTES', 'a sealing key is 32 bytes');
  return sealingScheme.current.seal(recipientPublicKey, plaintext, associatedData, takeRandom(random, 32));
}

/**
 * Opens a box with the recipient's key pair, whose halves belong together. Any changed input: CryptoError SEAL_BROKEN.
 */
export function open(input: {
  readonly recipient: SealingKeyPair;
  readonly box: Uint8Array;
  readonly associatedData: Uint8Array;
}): Uint8Array {
  const { recipient, box, associatedData } = input;
  if (recipient.secretKey.length !== 32) throw new CryptoError('INVALID_BYTES', 'the secret key is 32 bytes');
  if (box.length < SEAL_OVERHEAD_BYTES) throw sealBroken();
  return sealingScheme.current.open(recipient, box, associatedData);
}
