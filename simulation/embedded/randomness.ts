/**
 * The randomness of an embedded service, by label. Each cluster's identity (its members' identities, the key of its resume tokens)
 * comes from one secret, so that a stored state restores it. Everything else comes from the system: two runs on one
 * state share no nonce.
 */
import type { RandomBytes } from '../../core/actors/contract.ts';
import { hkdfSha256 } from '../../core/crypto/hashing.ts';

/** Labels of further clusters begin with "cluster/2/" (simulation/cluster/clusters.ts). */
const lasting = /^(cluster\/\d+\/)?(identity\/|resume-key$|embedded\/)/;
const utf8 = (text: string) => new TextEncoder().encode(text);

/** `secret`: 32 bytes. `system`: ambient randomness. */
export function randomnessOf(secret: Uint8Array, system: RandomBytes): (label: string) => RandomBytes {
  return (label) => {
    if (!lasting.test(label)) return system;
    let draws = 0;
    return (length) => {
      draws += 1;
      return hkdfSha256(secret, new Uint8Array(), utf8(`signmesh/embedded/${label}/${draws}`), length);
    };
  };
}
