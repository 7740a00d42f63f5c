/**
 * Request bodies: bytes to a JSON object, or a 400 that names the fault. Keys such as `__proto__` need no special handling:
 * JSON.parse makes plain own properties of them, and no code copies bodies into other objects.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '@bufbuild/protobuf';
import { ServiceError } from './errors/service-error.ts';
import { joinField } from './schema-text.ts';

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
  const { isTooDeep, names } = structureOf(bytes);
  if (isTooDeep) throw malformed(`the body nests deeper than ${jsonDepthMax} levels`);
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
  // Of two values of one field a proxy or a policy in front may have read the other one.
  if (countNames(value) !== names) throw givenTwice(text);
  return { value: value as JsonObject, hasSurrogateEscapes: surrogateEscape.test(text) };
}

function malformed(message: string): ServiceError {
  return new ServiceError('invalidRequest', message);
}

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;

/** One pass over the bytes, strings skipped. Cheaper than parsing deeply nested JSON, and protects later recursion. */
function structureOf(bytes: Uint8Array): { readonly isTooDeep: boolean; readonly names: number } {
  let depth = 0;
  let names = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at === -1) break;
    } else if (byte === colon) names += 1;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > jsonDepthMax) return { isTooDeep: true, names };
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return { isTooDeep: false, names };
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

/** Names of all objects in it: fewer than the text has, if one stands twice in an object. */
function countNames(value: object): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + namesIn(item), 0);
  let sum = 0;
  for (const item of Object.values(value)) sum += 1 + namesIn(item);
  return sum;
}

function namesIn(value: unknown): number {
  return typeof value === 'object' && value !== null ? countNames(value) : 0;
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** Names the first field that the text, which is JSON, gives twice. */
function givenTwice(text: string): ServiceError {
  const open: { readonly field: string; readonly names: Set<string>; index: number; place: string }[] = [];
  let field = '';
  let word = '';
  for (const [token] of text.matchAll(tokens)) {
    const within = open.at(-1);
    if (token === '{' || token === '[') {
      const of = within?.place ?? '';
      open.push({ field: of, names: new Set(), index: 0, place: `${of}[0]` });
    } else if (token === '}' || token === ']') open.pop();
    else if (within === undefined) break;
    else if (token === ',') within.place = `${within.field}[${++within.index}]`;
    else if (token === ':') {
      const name = JSON.parse(word) as string;
      within.place = joinField(within.field, name);
      if (within.names.has(name)) {
        field = within.place;
        break;
      }
      within.names.add(name);
    } else word = token;
  }
  const details = [{ field, issue: 'given_twice', message: 'is given once' }];
  return new ServiceError('invalidRequest', `the body gives ${field || 'a field without a name'} twice`, { details });
}
