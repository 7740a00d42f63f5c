/** Bytes as base64, the format of the signing API's JSON, in Node.js and in browsers. */
import { InvalidOptionError } from './errors.ts';

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/**
 * Takes one alphabet (standard or URL-safe), with its right padding or none; `atob` also takes spaces, line ends and spare bits,
 * and would read other bytes than the writer meant. Throws InvalidOptionError, which names the field and not the text.
 */
export function fromBase64(text: string, field: string): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from(decoded(text), (character) => character.charCodeAt(0));
  const padded = toBase64(bytes);
  const urlSafe = padded.replaceAll('+', '-').replaceAll('/', '_');
  const spellings = [padded, urlSafe].flatMap((one) => [one, one.replace(/=+$/, '')]);
  if (spellings.includes(text)) return bytes;
  const fault = /[\r\n]/.test(text) ? 'has a line end: it takes base64 in one line' : 'takes base64';
  throw new InvalidOptionError(field, fault);
}

function decoded(text: string): string {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return '';
  }
}
