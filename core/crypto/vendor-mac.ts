/**
 * Authenticates each HTTP message between a node and the vendor of its keys: HMAC-SHA-512 under their shared secret, truncated
 * to 32 bytes, over the message's kind and content. Each part has its length as prefix.
 */
import { encodeParts, toHex, utf8 } from './bytes.ts';
import { hmacSha512 } from './hashing.ts';

/** A request or a callback is valid for this long after its time, or before. */
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
