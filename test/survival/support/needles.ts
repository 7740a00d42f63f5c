/**
 * Looks for secrets in anything that leaves a process, in every form in which code is likely to let one slip: raw bytes,
 * hex, base64 and base64url (also inside something longer, at each of the three alignments), decimal, and the lists of
 * numbers that JSON makes of bytes; as given and with the bytes reversed (the other byte order of the same scalar).
 */

/** Characters by which a needle is found; the rest is compared then. */
const headChars = 12;

export interface Found {
  readonly secret: string;
  readonly form: string;
  readonly where: string;
}

interface Needle {
  readonly text: string;
  readonly secret: string;
  readonly form: string;
}

export class Needles {
  readonly #byHead = new Map<string, Needle[]>();
  readonly #known = new Set<string>();

  /** How many different secrets are looked for. */
  get size(): number {
    return this.#known.size;
  }

  /** A secret of 12 bytes or more. Again: nothing new. */
  add(secret: string, bytes: Uint8Array): void {
    const hex = Buffer.from(bytes).toString('hex');
    if (bytes.length < headChars) throw new RangeError(`${secret} is too short to be looked for`);
    if (this.#known.has(hex)) return;
    this.#known.add(hex);
    for (const [order, value] of [
      ['', bytes],
      ['reversed ', Uint8Array.from(bytes).reverse()],
    ] as const) {
      for (const [form, text] of forms(value)) this.#put({ secret, form: order + form, text });
    }
  }

  /** A scalar of 32 bytes. */
  addScalar(secret: string, scalar: bigint): void {
    this.add(secret, Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex'));
  }

  /** Text that is a secret as it stands, such as a token. */
  addText(secret: string, text: string): void {
    this.add(secret, Buffer.from(text, 'utf8'));
  }

  /** `haystack`: text, or bytes. */
  search(where: string, haystack: string | Uint8Array): Found[] {
    const text = typeof haystack === 'string' ? haystack : Buffer.from(haystack).toString('latin1');
    const found: Found[] = [];
    for (let at = 0; at + headChars <= text.length; at += 1) {
      const needles = this.#byHead.get(text.slice(at, at + headChars));
      for (const needle of needles ?? []) {
        if (text.startsWith(needle.text, at)) found.push({ secret: needle.secret, form: needle.form, where });
      }
    }
    return found;
  }

  #put(needle: Needle): void {
    const head = needle.text.slice(0, headChars);
    const standing = this.#byHead.get(head);
    if (standing) standing.push(needle);
    else this.#byHead.set(head, [needle]);
  }
}

function* forms(bytes: Uint8Array): Generator<readonly [form: string, text: string]> {
  const buffer = Buffer.from(bytes);
  const hex = buffer.toString('hex');
  yield ['raw', buffer.toString('latin1')];
  yield ['hex', hex];
  yield ['HEX', hex.toUpperCase()];
  yield ['decimal', BigInt(`0x${hex}`).toString()];
  yield ['array', [...bytes].join(',')];
  yield ['spaced array', [...bytes].join(', ')];
  yield ['object', JSON.stringify(Object.fromEntries([...bytes].entries())).slice(1, -1)];
  for (const before of [0, 1, 2]) {
    // Whole groups only: what stands beside the secret changes the characters at its edges.
    const skip = (3 - before) % 3;
    const whole = buffer.subarray(skip, skip + Math.floor((bytes.length - skip) / 3) * 3).toString('base64');
    yield [`base64 at ${before}`, whole];
    const url = whole.replaceAll('+', '-').replaceAll('/', '_');
    if (url !== whole) yield [`base64url at ${before}`, url];
  }
}
