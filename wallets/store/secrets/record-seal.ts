/**
 * Seals the records of the tenant store: behind a mark, a record's text is stored with a MAC under a key that Redis never
 * sees, over the key that holds it, its kind and the whole text. So a writer to Redis can delete a record or put an earlier version
 * of it back, and nothing else: no field changes, and no record passes for another one, of another tenant,
 * or of another kind.
 *
 * Text form: `~<MAC, 22 characters of base64url><text>`. The text of a record without a MAC begins otherwise (event-text.ts).
 */
import { macChars, RecordMacs } from '../../../core/crypto/record-macs.ts';

const mark = '~';
const textFrom = mark.length + macChars;

/** What a MAC covers besides the text. */
export interface SealedPlace {
  /** The key of Redis, which names the tenant and the record. */
  readonly key: string;
  /** The name of the record's type. */
  readonly kind: string;
}

export class RecordSeal {
  readonly #macs: RecordMacs;

  /** `recordKey`: 32 bytes, secret, the same in every process that reads or writes records. */
  constructor(recordKey: Uint8Array) {
    this.#macs = new RecordMacs(recordKey, 'signmesh/record-seal/v1');
  }

  seal({ key, kind }: SealedPlace, text: string): string {
    return mark + this.#macs.of([key, kind, text]) + text;
  }

  /** The text; undefined: its MAC is wrong, or it has none. */
  open({ key, kind }: SealedPlace, stored: string): string | undefined {
    const text = unsealed(stored);
    if (text === stored) return undefined;
    return this.#macs.holds([key, kind, text], stored.slice(mark.length, textFrom)) ? text : undefined;
  }
}

/** The text without a check of its MAC, which a record of an earlier version has not. */
export function unsealed(stored: string): string {
  return stored.startsWith(mark) ? stored.slice(textFrom) : stored;
}
