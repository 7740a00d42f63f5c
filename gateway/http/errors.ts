/**
 * Errors on the HTTP door: whatever goes wrong, in a handler, in Fastify or in Node's parser, leaves as the spec's body
 * `{error: {code, message, details?, request_id}}` with an X-Request-Id.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../actors/live/ports.ts';
import { httpBodyBytesMax } from '../../proto/limits.ts';
import type { HttpAccess } from '../access/http-access.ts';
import type { ErrorKind } from '../errors/kinds.ts';
import { internalError, ServiceError } from '../errors/service-error.ts';
import { ProviderRejected, ProviderUnavailable } from '../providers/port.ts';
import { StoreUnavailable } from '../store/contract.ts';
import { freshRequestId, requestIdHeader } from './request-id.ts';

export const jsonContentType = 'application/json; charset=utf-8';

export function sendError(reply: FastifyReply, error: ServiceError, requestId: string, log: Log): void {
  if (error.kind === 'internalError') {
    const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
    log.error({ request_id: requestId, reason: cause }, 'internal error');
  }
  const { access } = reply.request;
  if (access !== undefined) access.error = error;
  reply.code(error.entry.http).header(requestIdHeader, requestId).header('content-type', jsonContentType);
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  if (error.headers !== undefined) reply.headers(error.headers);
  reply.send(errorBody(error, requestId));
}

export function errorBody(error: ServiceError, requestId: string): string {
  return JSON.stringify({
    error: {
      code: error.entry.code,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      request_id: requestId,
    },
  });
}

/** Fastify's own refusals, by its error code; what is not listed falls under its status. */
const frameworkKinds: Readonly<Record<string, readonly [ErrorKind, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['bodyTooLarge', `the body is larger than ${httpBodyBytesMax} bytes`],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupportedMediaType', 'the content type must be application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalidRequest', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['invalidRequest', 'the path is not a valid URL'],
  FST_ERR_MAX_PARAM_LENGTH: ['notFound', 'no such resource'],
};

/** Anything thrown on the way, as what the caller is told. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const ours = fromPorts(error);
  if (ours !== undefined) return ours;
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? frameworkKinds[code] : undefined;
  if (known !== undefined) return new ServiceError(known[0], known[1]);
  const isCallers = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return isCallers ? new ServiceError('invalidRequest', 'the request is malformed') : internalError(error);
}

/** What the ports behind the routes throw. */
function fromPorts(error: unknown): ServiceError | undefined {
  if (error instanceof ProviderRejected) {
    const { field, issue, providerCode, message } = error;
    return new ServiceError('providerRejected', `the provider refused the operation: ${message}`, {
      details: [{ field, issue, message: `${providerCode}: ${message}` }],
    });
  }
  if (error instanceof ProviderUnavailable) {
    const retryAfterS = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
    return new ServiceError('unavailable', error.message, { retryAfterS });
  }
  if (error instanceof StoreUnavailable) {
    const message =
      'the store does not answer or takes no writes: repeat the request, with the same Idempotency-Key if it has one';
    return new ServiceError('unavailable', message, { cause: error });
  }
  return undefined;
}

/** Requests that Node's HTTP parser refuses never reach Fastify: the answer is written to the socket as it is. */
export function answerUnparsable(
  error: Error & { code?: string },
  socket: Socket,
  access: HttpAccess | undefined,
): void {
  if (error.code === 'ECONNRESET') return;
  answerRaw(socket, unparsable(error.code), access);
}

/** The last answer of a connection, where there is no response to write it with. */
export function answerRaw(socket: Socket, error: ServiceError, access: HttpAccess | undefined): void {
  if (socket.destroyed) return;
  const known = access?.interrupt(socket, error);
  const requestId = known ?? freshRequestId();
  if (known === undefined) access?.refused(requestId, error);
  if (socket.writable) socket.write(rawAnswer(error, requestId));
  socket.destroySoon();
}

function unparsable(code: string | undefined): ServiceError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('requestTimeout', 'the request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW') return new ServiceError('headersTooLarge', 'the headers are too large');
  return new ServiceError('invalidRequest', 'the request is not well-formed HTTP/1.1, or was cut short');
}

function rawAnswer(error: ServiceError, requestId: string): string {
  const body = errorBody(error, requestId);
  const { http } = error.entry;
  return [
    `HTTP/1.1 ${http} ${STATUS_CODES[http]}`,
    `X-Request-Id: ${requestId}`,
    `Content-Type: ${jsonContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
