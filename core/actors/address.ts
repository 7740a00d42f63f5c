/**
 * Addresses as paths: which behaviour serves one, which link leads to one, and which senders a link may carry. Pure; the
 * kernel and the links use it, so that a message finds the same actor in either world.
 */
import type { Address } from './contract.ts';

/** Whether `address` is `owner` itself or lies below it: "node/3/dkg/x" lies under "node/3", "node/31" does not. */
export function liesUnder(address: Address, owner: Address): boolean {
  return (
    address.startsWith(owner) && (address.length === owner.length || address.charCodeAt(owner.length) === slashCharCode)
  );
}

const slashCharCode = 0x2f;

/** The first two segments, which name the peer a link leads to: "node/3/dkg/t/s" gives "node/3". */
export function peerOf(address: Address): Address {
  const first = address.indexOf('/');
  if (first < 0) return address;
  const second = address.indexOf('/', first + 1);
  return second < 0 ? address : address.slice(0, second);
}

/**
 * A look-up of the longest prefix that an address lies under. Throws an Error on an empty or repeated prefix, which is
 * a mistake in the wiring of a process.
 */
export function prefixTable<B extends { readonly prefix: string }>(
  behaviours: readonly B[],
): (address: Address) => B | undefined {
  const longestFirst = [...behaviours].sort((a, b) => b.prefix.length - a.prefix.length);
  const seen = new Set<string>();
  for (const { prefix } of longestFirst) {
    if (prefix === '' || prefix.endsWith('/')) throw new Error(`a behaviour's prefix is malformed: "${prefix}"`);
    if (seen.has(prefix)) throw new Error(`two behaviours claim the prefix "${prefix}"`);
    seen.add(prefix);
  }
  return (address) => {
    for (const behaviour of longestFirst) if (liesUnder(address, behaviour.prefix)) return behaviour;
    return undefined;
  };
}
