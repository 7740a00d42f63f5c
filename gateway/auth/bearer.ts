/** Reading a token out of an `authorization` header or metadata entry (RFC 6750 §2.1), strictly. */
import { tokenCharsMax } from './token-format.ts';

/** The scheme is case-insensitive (RFC 9110 §11.1); exactly one token follows. */
const bearerPattern = /^bearer +([A-Za-z0-9_]+)$/i;
const headerCharsMax = tokenCharsMax + 'bearer '.length;

export function readBearer(header: string | undefined): string | undefined {
  if (header === undefined || header.length > headerCharsMax) return undefined;
  return bearerPattern.exec(header)?.[1];
}

/**
 * The one `authorization` header of a request, from Node's raw header list (name, value, name, value, …). Node keeps
 * the first of several silently; two of them are an ambiguity that must not be decided here, so they count as none.
 */
export function onlyAuthorization(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (found !== undefined) return undefined;
    found = rawHeaders[index + 1];
  }
  return found;
}
