/**
 * Ids: a prefix and a UUIDv7 (RFC 9562 §5.7), so that they sort by time and say what they name. Pure: time and
 * randomness are handed in.
 */
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

const hexOfByte: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Lowercase, with hyphens. `nowMs` below 2^48; takes 10 random bytes. */
export function uuidV7(nowMs: number, random: (length: number) => Uint8Array): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const bytes = random(10);
  let hex = '';
  for (let index = 0; index < 10; index += 1) hex += hexOfByte[bytes[index]!]!;
  const variant = ((Number.parseInt(hex[3]!, 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}
