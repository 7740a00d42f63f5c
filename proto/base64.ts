/**
 * Base64 (RFC 4648) from outside, read strictly. Node.js, `atob` and the library of ProtoJSON also take line ends, wrong padding,
 * mixed alphabets and spare bits: the reader then gets other bytes than the writer meant, and signs them.
 */

/** The bytes of a text in one alphabet (standard or URL-safe), with its right padding or none; undefined: of any other text. */
export function readBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  const padded = bytes.toString('base64');
  if (text !== padded) {
    const bare = padded.replace(/=+$/, '');
    const urlSafe = bytes.toString('base64url');
    if (text !== bare && text !== urlSafe && text !== urlSafe + padded.slice(bare.length)) return undefined;
  }
  return new Uint8Array(bytes);
}

/** What is wrong with a text that `readBase64` does not take, and the remedy. */
export function base64Fault(text: string): string {
  return /[\r\n]/.test(text)
    ? 'has a line end: make it in one line with `base64 -w0`, and write it with `printf %s`'
    : 'takes base64: one alphabet (standard or URL-safe), the right padding or none, no spaces, spare bits zero';
}
