/**
 * MACs of stored records: an attacker who can write to the store and lacks the key can neither make a record nor change a field
 * of one. A record without a MAC counts as changed.
 *
 * A MAC covers the whole record and its name, so that no record passes for another. It cannot detect that a record was replaced
 * by an earlier one of the same name, or removed.
 *
 * MACs do not depend on the chosen cryptography (model/switch.ts): a record may be written where one is chosen and read where the other is.
 */
import { utf8 } from './bytes.ts';
import { realHkdfSha256, realMac } from './hashing.ts';

/** Characters of a MAC in base64url. */
export const macChars = 22;

/** A character takes at most three bytes of UTF-8 for each unit of its length. */
const scratch = Buffer.alloc(3 * 16_384);

export class RecordMacs {
  readonly #key: Uint8Array;

  /** `secret`: of the processes that may write such records. `purpose` and `context` give each kind of record its own key. */
  constructor(secret: Uint8Array, purpose: string, context = '') {
    this.#key = realHkdfSha256(secret, utf8(purpose), utf8(context), 32);
  }

  /** The MAC of a record's parts, in order. It covers each part's length, so that different parts never give the same bytes. */
  of(parts: readonly string[]): string {
    let text = '';
    for (const part of parts) text += `${part.length}:${part}`;
    // Most records fit: a new buffer for each costs as much as its MAC.
    const bytes = text.length * 3 <= scratch.length ? scratch.subarray(0, scratch.write(text)) : Buffer.from(text);
    const { buffer, byteOffset, length } = realMac(this.#key, bytes);
    return Buffer.from(buffer, byteOffset, length).toString('base64url');
  }

  holds(parts: readonly string[], given: string | undefined): boolean {
    const own = this.of(parts);
    if (given?.length !== own.length) return false;
    // In a time that does not depend on where they differ.
    let differing = 0;
    for (let index = 0; index < own.length; index += 1) differing |= own.charCodeAt(index) ^ given.charCodeAt(index);
    return differing === 0;
  }
}
