/**
 * The input of a FROST nonce's hash besides fresh random bytes: a secret of the node, and the nonce's identity.
 *
 * RFC 9591 §4.1 also hashes the key share, so that a bad random source does not disclose nonces. Nodes here make nonces
 * before they know the key; a key derived from the node's identity seed replaces the share. It comes from another
 * source than the nonce's random bytes: from set-up, not from the generator at the time of the nonce.
 *
 * Invariant: within one identity no two nonces get the same hedge, even where the random source repeats itself: the hedge
 * covers boot, scheme, number, and which of the pair it is. If the boot id repeats as well (a machine restored from a
 * snapshot), the creation time in milliseconds differs; if clock, boot id and random source all repeat, nonces do.
 */
import { encodeParts, u32be, u64be, utf8 } from '../../core/crypto/bytes.ts';
import { hkdfSha256, sha256 } from '../../core/crypto/hashing.ts';
import type { FrostScheme } from './schemes.ts';

/** The hedges of one pair of nonces, 32 secret bytes each. */
export type NonceHedge = (
  scheme: FrostScheme,
  number: bigint,
  nowMs: number,
) => { readonly hiding: Uint8Array; readonly binding: Uint8Array };

/**
 * @param identitySeed secret, 32 bytes
 * @param boot of the node's process
 */
export function nonceHedge(identitySeed: Uint8Array, boot: string): NonceHedge {
  const secret = hkdfSha256(identitySeed, new Uint8Array(0), utf8('signmesh/nonce-hedge/v1'), 32);
  const bootBytes = utf8(boot);
  return (scheme, number, nowMs) => {
    const name = encodeParts(bootBytes, u32be(scheme), u64be(number), u64be(Math.max(0, Math.floor(nowMs))));
    return { hiding: sha256(secret, name, utf8('hiding')), binding: sha256(secret, name, utf8('binding')) };
  };
}
