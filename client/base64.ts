/** Bytes as base64, the format of the signing API's JSON, in Node.js and in browsers. */
import { InvalidOptionError } from './errors.ts';

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Throws InvalidOptionError, which names the field and not the text. */
export function fromBase64(text: string, field: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw new InvalidOptionError(field, 'takes base64');
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
