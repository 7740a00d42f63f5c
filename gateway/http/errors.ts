/** Answers to input that is no request for `serve`, with the API's error body and an X-Request-Id. */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpAccess } from '../access-log/http-access.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { RequestIds } from '../api/request-id.ts';
import { jsonContentType } from '../serve/contract.ts';
import { errorBody } from '../serve/errors.ts';

/**
 * Requests that Node's HTTP parser refuses never become one: the answer is written to the socket as it is, behind the answer to
 * a request that is complete. `last`: the response to the connection's last request.
 */
export function answerUnparsable(
  error: Error & { code?: string },
  socket: Socket,
  last: ServerResponse | undefined,
  requestIds: RequestIds,
  access: HttpAccess | undefined,
): void {
  if (error.code === 'ECONNRESET') return;
  const refuse = () => answerRaw(socket, unparsable(error.code), requestIds, access);
  if (last?.req.complete && !last.writableFinished) {
    // What follows is refused with it, once.
    socket.pause();
    last.once('close', refuse);
  } else refuse();
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
