/**
 * Errors on the HTTP door: every error, in a handler, in Fastify or in Node's parser, becomes the error body of the API,
 * `{error: {code, message, details?, request_id}}` with an X-Request-Id.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../actors/live/ports.ts';
import { ServiceError } from '../../api/errors/service-error.ts';
import { type RequestIds, requestIdHeader } from '../../api/request-id.ts';
import type { HttpAccess } from '../access-log/http-access.ts';

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

/** Requests that Node's HTTP parser refuses never reach Fastify: the answer is written to the socket as it is. */
export function answerUnparsable(
  error: Error & { code?: string },
  socket: Socket,
  requestIds: RequestIds,
  access: HttpAccess | undefined,
): void {
  if (error.code === 'ECONNRESET') return;
  answerRaw(socket, unparsable(error.code), requestIds, access);
}

/** The last answer of a connection, where there is no response to write it with. */
export function answerRaw(
  socket: Socket,
  error: ServiceError,
  requestIds: RequestIds,
  access: HttpAccess | undefined,
): void {
  if (socket.destroyed) return;
  const known = access?.interrupt(socket, error);
  const requestId = known ?? requestIds.fresh();
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
