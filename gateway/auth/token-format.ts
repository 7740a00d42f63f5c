/**
 * The format of tokens: `svc_sk_test_` or `svc_sk_live_`, 30 base62 characters of randomness (178 bits) and 6 of checksum, so
 * that a mistyped or truncated token is refused without a lookup and secret scanners can tell a real one. A sandbox also
 * accepts made-up test tokens: 12 or more characters of A-Z a-z 0-9.
 *
 * Tokens themselves are never stored: `hashToken` is what stands in the store and in the cache.
 */
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ClusterEnvironment } from '../../proto/roster.ts';

const prefixes: Readonly<Record<ClusterEnvironment, string>> = {
  sandbox: 'svc_sk_test_',
  production: 'svc_sk_live_',
};
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretChars = 30;
const checksumChars = 6;
const issuedPattern = new RegExp(`^[0-9A-Za-z]{${secretChars + checksumChars}}$`);
const madeUpPattern = /^[0-9A-Za-z]{12,}$/;
export const tokenCharsMax = 256;

/** A fresh token. `random` must be the operating system's generator. */
export function newToken(environment: ClusterEnvironment, random: (length: number) => Uint8Array): string {
  let secret = '';
  while (secret.length < secretChars) {
    // Bytes of 248 and more would favour the first letters of the alphabet.
    for (const byte of random(secretChars)) {
      if (byte < 248 && secret.length < secretChars) secret += alphabet[byte % 62];
    }
  }
  const body = prefixes[environment] + secret;
  return body + checksum(body);
}

/**
 * The environment in a token's prefix, or undefined when it cannot be a token. Live tokens must carry their checksum; test
 * tokens may be made up.
 */
export function tokenEnvironment(token: string): ClusterEnvironment | undefined {
  if (token.length > tokenCharsMax) return undefined;
  if (token.startsWith(prefixes.sandbox)) {
    return madeUpPattern.test(token.slice(prefixes.sandbox.length)) ? 'sandbox' : undefined;
  }
  if (token.startsWith(prefixes.production) && issuedPattern.test(token.slice(prefixes.production.length))) {
    const body = token.slice(0, -checksumChars);
    return checksum(body) === token.slice(-checksumChars) ? 'production' : undefined;
  }
  return undefined;
}

/** CRC-32 of everything before it, base62. No secret: it guards against typing errors alone. */
function checksum(body: string): string {
  let value = crc32(body);
  let text = '';
  for (let index = 0; index < checksumChars; index += 1) {
    text = alphabet[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}

/** HMAC-SHA256 of the token, hex: the only form in which a token is stored or cached. */
export function hashToken(token: string, tokenKey: Uint8Array): string {
  return createHmac('sha256', tokenKey).update(token).digest('hex');
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** The tenant that a made-up test token opens: `tn_` and the first 130 bits of its hash in base32. */
export function tenantOfHash(hash: string): string {
  let bits = BigInt(`0x${hash}`) >> (256n - 130n);
  let text = '';
  for (let index = 0; index < 26; index += 1) {
    text = base32[Number(bits & 31n)] + text;
    bits >>= 5n;
  }
  return `tn_${text}`;
}
