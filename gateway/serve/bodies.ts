/** Reads the JSON body of a request, once its caller was admitted: its type and length first, then its bytes. */

import { httpBodyBytesMax } from '../../proto/limits.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { isJsonType, type JsonBody, parseJsonBody, refuseEncoding } from '../api/json-body.ts';
import type { ServeRequest } from './contract.ts';

/** undefined: there is no body. Rejects with ServiceError. */
export async function readJsonBody(request: ServeRequest): Promise<JsonBody | undefined> {
  const bytes = await readBytes(request);
  return bytes === undefined || bytes.length === 0 ? undefined : parseJsonBody(bytes);
}

/** As `readJsonBody`; an empty body of a request that names a type is refused. */
export async function readNeededJsonBody(request: ServeRequest): Promise<JsonBody> {
  const bytes = await readBytes(request);
  if (bytes === undefined) throw new ServiceError('invalidRequest', 'the body is empty: a JSON object is needed');
  return parseJsonBody(bytes);
}

/** undefined: neither a type nor a byte. */
async function readBytes(request: ServeRequest): Promise<Uint8Array | undefined> {
  const { headers } = request;
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = headers;
  if (type === undefined && encoding === undefined && (length === undefined || length === '0')) return undefined;
  if (type === undefined || !isJsonType(type)) {
    throw new ServiceError('unsupportedMediaType', 'the content type must be application/json');
  }
  const declared = length === undefined ? undefined : Number(length);
  if (declared !== undefined && declared > httpBodyBytesMax) throw tooLarge();
  const bytes = await request.body(httpBodyBytesMax);
  if (request.entry !== undefined) request.entry.body = bytes;
  if (bytes.length > httpBodyBytesMax) throw tooLarge();
  if (declared !== undefined && declared !== bytes.length) {
    throw new ServiceError('invalidRequest', 'the body is not as long as Content-Length says');
  }
  refuseEncoding(headers);
  return bytes;
}

function tooLarge(): ServiceError {
  return new ServiceError('bodyTooLarge', `the body is larger than ${httpBodyBytesMax} bytes`);
}
