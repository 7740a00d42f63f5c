/**
 * Base58Check, as Bitcoin and BIP-32 write extended keys: payload ‖ first four bytes of double SHA-256, in base 58.
 * Only encoding: the service exports xpubs and reads none.
 */
import { concatBytes } from './bytes.ts';
import { sha256 } from './hashing.ts';
import { integerFromBigEndian } from './scalar.ts';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The payload in base 58 without a checksum; each leading zero byte becomes one '1'. */
export function base58(payload: Uint8Array): string {
  let text = '';
  for (let rest = integerFromBigEndian(payload); rest > 0n; rest /= 58n) {
    text = ALPHABET[Number(rest % 58n)]! + text;
  }
  const zeros = payload.findIndex((byte) => byte !== 0);
  return ALPHABET[0]!.repeat(zeros < 0 ? payload.length : zeros) + text;
}

/** The payload with its checksum, in base 58. */
export function base58Check(payload: Uint8Array): string {
  return base58(concatBytes(payload, sha256(sha256(payload)).subarray(0, 4)));
}
