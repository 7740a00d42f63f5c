/**
 * MACs of sessions and keys in Redis, under a key of the coordinators: an attacker who can write to Redis and lacks this key
 * can neither make a record nor change a field of one. A record without a MAC counts as changed.
 *
 * A MAC covers the whole record and its name, so that no record passes for another. It cannot detect that a record was replaced
 * by an earlier one of the same name, or removed. All other data (guards of intents, marks of closed keys, indices, fences,
 * events) has no MAC.
 */
import { timingSafeEqual } from 'node:crypto';
import { utf8 } from '../../crypto/bytes.ts';
import { hkdfSha256, mac } from '../../crypto/hashing.ts';

/** Characters of a MAC in base64url. */
export const macChars = 22;

export class RecordMacs {
  readonly #key: Uint8Array;

  /** `resumeKey`: secret, shared by all starts of this cluster's coordinator. */
  constructor(resumeKey: Uint8Array, clusterId: string) {
    this.#key = hkdfSha256(resumeKey, utf8('signmesh/store-mac/v1'), utf8(clusterId), 32);
  }

  /** The MAC of a record's parts, in order. It covers each part's length, so that different parts never give the same bytes. */
  of(parts: readonly string[]): string {
    let text = '';
    for (const part of parts) text += `${part.length}:${part}`;
    return Buffer.from(mac(this.#key, Buffer.from(text))).toString('base64url');
  }

  holds(parts: readonly string[], given: string | undefined): boolean {
    const own = Buffer.from(this.of(parts));
    const other = Buffer.from(given ?? '');
    return own.length === other.length && timingSafeEqual(own, other);
  }
}
