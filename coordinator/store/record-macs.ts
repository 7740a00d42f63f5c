/**
 * MACs of sessions and keys in Redis, under a key of the coordinators: an attacker who can write to Redis and holds no such key
 * can neither make a record nor change a field of one. A record without a MAC counts as changed.
 *
 * Covered is the whole record with its name, so that none passes for another. What a MAC cannot show: that a record was
 * replaced by an earlier one of the same name, or taken away. Whatever is not in these records (guards of intents, marks
 * of closed keys, indices, fences, events) has none.
 */
import { timingSafeEqual } from 'node:crypto';
import { utf8 } from '../../crypto/bytes.ts';
import { hkdfSha256, mac } from '../../crypto/hashing.ts';

/** Characters of a MAC in base64url. */
export const macChars = 22;

export class RecordMacs {
  readonly #key: Uint8Array;

  /** `resumeKey`: secret, the one that all starts of this cluster's coordinator share. */
  constructor(resumeKey: Uint8Array, clusterId: string) {
    this.#key = hkdfSha256(resumeKey, utf8('signmesh/store-mac/v1'), utf8(clusterId), 32);
  }

  /** Of a record's parts, in order. Each goes in with its length, so that different parts never give the same bytes. */
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
