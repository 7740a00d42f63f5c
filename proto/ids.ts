/**
 * Ids: a prefix and a UUIDv7 (RFC 9562 §5.7), so that they sort by time and show their kind. Pure: the caller
 * supplies time and randomness.
 */
import { createHash } from 'node:crypto';

export type IdPrefix =
  | 'sig'
  | 'dkg'
  | 'rcp'
  | 'ckp'
  | 'req'
  | 'cor'
  /** Provider connection, wallet, transaction intent, event, webhook, delivery to a webhook, token. */
  | 'pcn'
  | 'wal'
  | 'txi'
  | 'evt'
  | 'whk'
  | 'dlv'
  | 'tok'
  /** Token of token operations, order of one. */
  | 'tkn'
  | 'ord'
  /** Policy, policy decision; compliance screening, report, list; risk rule, risk score. */
  | 'pol'
  | 'dec'
  | 'scr'
  | 'rep'
  | 'lst'
  | 'rul'
  | 'rsk'
  /** Proposed change. */
  | 'chg'
  /** Vault, key of a vault, signature of a vault. */
  | 'vlt'
  | 'vky'
  | 'vsg'
  /** Request for access to a module. */
  | 'acr'
  /** Treasury strategy and plan. */
  | 'stg'
  | 'pln'
  /** Reconciliation: job, exception, drift of a sandbox. */
  | 'rcj'
  | 'rcx'
  | 'rcd';

export function newId(prefix: IdPrefix, nowMs: number, random: (length: number) => Uint8Array): string {
  return `${prefix}_${uuidV7(nowMs, random)}`;
}

/** The session that makes this version of a key's shares: the same for every caller, so that no version is made twice. */
export function refreshSessionId(keyId: string, version: number): string {
  const name = createHash('sha256').update(`signmesh/refresh-session/v1 ${version} ${keyId}`).digest('hex');
  return `rfr_${name.slice(0, 32)}`;
}

/** The time in an id; undefined: it holds none. */
export function idTimeMs(id: string): number | undefined {
  const [, high, low] = /^[a-z]{3}_([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  return high === undefined ? undefined : Number.parseInt(`${high}${low}`, 16);
}

/** The characters of the id in progress, as ASCII. */
const ascii = Buffer.alloc(36);
const hexDigits = Buffer.from('0123456789abcdef');
const hyphen = 0x2d;

/** Lowercase, with hyphens. `nowMs` below 2^48; takes 10 random bytes. */
export function uuidV7(nowMs: number, random: (length: number) => Uint8Array): string {
  const bytes = random(10);
  const high = Math.floor(nowMs / 2 ** 32);
  const low = nowMs >>> 0;
  putByte(0, high >>> 8);
  putByte(2, high);
  putByte(4, low >>> 24);
  putByte(6, low >>> 16);
  ascii[8] = hyphen;
  putByte(9, low >>> 8);
  putByte(11, low);
  ascii[13] = hyphen;
  // Version 7, then twelve random bits; variant 10, then 62 more.
  ascii[14] = 0x37;
  ascii[15] = hexDigits[bytes[0]! >>> 4]!;
  putByte(16, ((bytes[0]! & 0xf) << 4) | (bytes[1]! >>> 4));
  ascii[18] = hyphen;
  ascii[19] = hexDigits[(bytes[1]! & 0x3) | 0x8]!;
  ascii[20] = hexDigits[bytes[2]! >>> 4]!;
  putByte(21, ((bytes[2]! & 0xf) << 4) | (bytes[3]! >>> 4));
  ascii[23] = hyphen;
  for (let index = 0; index < 6; index += 1) {
    putByte(24 + 2 * index, ((bytes[3 + index]! & 0xf) << 4) | (bytes[4 + index]! >>> 4));
  }
  return ascii.toString('latin1');
}

function putByte(at: number, byte: number): void {
  ascii[at] = hexDigits[(byte >>> 4) & 0xf]!;
  ascii[at + 1] = hexDigits[byte & 0xf]!;
}
