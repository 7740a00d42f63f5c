/**
 * Request bodies: bytes to a JSON object, or a 400 that names the fault. Keys such as `__proto__` need no special handling:
 * JSON.parse makes plain own properties of them, and no code copies bodies into other objects.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '@bufbuild/protobuf';
import { ServiceError } from './errors/service-error.ts';

/** Objects and arrays within each other. The contract's own bodies need four. */
export const jsonDepthMax = 64;

export interface JsonBody {
  readonly value: JsonObject;
  /** The text holds \\ud… escapes: strings may hold half of a surrogate pair. */
  readonly hasSurrogateEscapes: boolean;
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const surrogateEscape = /\\ud[89a-f]/i;

/** Whether a content type says JSON, whatever its parameters are. */
export function isJsonType(contentType: string): boolean {
  return contentType.split(';', 1)[0]!.trim().toLowerCase() === 'application/json';
}

/** Bodies are UTF-8 as they come: throws ServiceError for a content encoding, a transfer coding but chunked, and another charset. */
export function refuseEncoding(headers: IncomingHttpHeaders): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  const { 'transfer-encoding': transfer = 'chunked' } = headers;
  // Node decodes chunks alone, also of "gzip, chunked": a proxy in front may have read another body.
  if (transfer.toLowerCase() !== 'chunked') {
    throw new ServiceError('unsupportedMediaType', 'the only transfer coding of a body is chunked');
  }
  if (encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('unsupportedMediaType', 'the body must come without a content encoding');
  }
  if (charsetsOf(type).some((charset) => charset !== 'utf-8' && charset !== 'utf8')) {
    throw new ServiceError('unsupportedMediaType', 'the charset of the body must be utf-8');
  }
}

/** In lower case. It does not parse quoted semicolons: at worst it refuses an unusual type. */
function charsetsOf(contentType: string): string[] {
  const parameters = contentType.toLowerCase().split(';').slice(1);
  return parameters.flatMap((parameter) => {
    const [name = '', value = ''] = parameter.split('=', 2);
    return name.trim() === 'charset' ? [value.trim().replace(/^"(.*)"$/, '$1')] : [];
  });
}

/** Throws ServiceError. */
export function parseJsonBody(bytes: Uint8Array): JsonBody {
  if (bytes.length === 0) throw malformed('the body is empty: send a JSON object, at least {}');
  if (nestsTooDeep(bytes)) throw malformed(`the body nests deeper than ${jsonDepthMax} levels`);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw malformed('the body is not UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('the body is not JSON');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw malformed('the body is not a JSON object');
  }
  return { value: value as JsonObject, hasSurrogateEscapes: surrogateEscape.test(text) };
}

function malformed(message: string): ServiceError {
  return new ServiceError('invalidRequest', message);
}

const quote = 0x22;
const backslash = 0x5c;

/** One pass over the bytes, strings skipped. Cheaper than parsing deeply nested JSON, and protects later recursion. */
function nestsTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at === -1) return false;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > jsonDepthMax) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}

/** Index of the quote that closes the string opened at `start`, or -1. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    at = bytes.indexOf(quote, at + 1);
    if (at === -1) return -1;
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}
