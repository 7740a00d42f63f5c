/**
 * MACs of stored records: an attacker who can write to the store and lacks the key can neither make a record nor change a field
 * of one. A record without a MAC counts as changed.
 *
 * A MAC covers the whole record and its name, so that no record passes for another. It cannot detect that a record was replaced
 * by an earlier one of the same name, or removed.
 *
 * MACs do not depend on the chosen cryptography (model/switch.ts): a record may be written where one is chosen and read where the
 * other is.
 */
import { equalBytes, utf8 } from './bytes.ts';
import { realHkdfSha256, realMac } from './hashing.ts';

/** Characters of a MAC in base64url. */
export const macChars = 22;

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
    return Buffer.from(realMac(this.#key, utf8(text))).toString('base64url');
  }

  holds(parts: readonly string[], given: string | undefined): boolean {
    return equalBytes(utf8(this.of(parts)), utf8(given ?? ''));
  }
}
