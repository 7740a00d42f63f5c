/**
 * What a node and the vendor of its keys prove to each other with each HTTP message: HMAC-SHA-512 under the secret that they
 * share, cut to 32 bytes, over its kind and everything that it says. Each part stands behind its length.
 */
import { encodeParts, toHex, utf8 } from './bytes.ts';
import { hmacSha512 } from './hashing.ts';

/** A request or a callback counts for so long after its time, or before. */
export const vendorMacAgeMaxMs = 5 * 60_000;

/** 64 hex digits. An answer's parts begin with the MAC of its request. */
export function vendorMac(
  secret: Uint8Array,
  kind: 'request' | 'answer' | 'callback',
  ...parts: readonly string[]
): string {
  const input = encodeParts(utf8('signmesh/vendor/v1'), utf8(kind), ...parts.map(utf8));
  return toHex(hmacSha512(secret, input).subarray(0, 32));
}
