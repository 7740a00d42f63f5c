/** The error body of the API for every error: `{error: {code, message, details?, request_id}}`. */
import type { Log } from '../../core/actors/live/ports.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
import type { ServiceError } from '../api/errors/service-error.ts';
import { jsonContentType, type Reply } from './contract.ts';

export function errorReply(error: ServiceError, entry: AccessEntry, log: Log): Reply {
  if (error.kind === 'internalError') {
    const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
    log.error({ request_id: entry.requestId, reason: cause }, 'internal error');
  }
  entry.error = error;
  const headers = {
    'content-type': jsonContentType,
    ...(error.retryAfterS !== undefined && { 'retry-after': String(error.retryAfterS) }),
    ...error.headers,
  };
  return { status: error.entry.http, headers, body: errorBody(error, entry.requestId) };
}

/** Up to the request's id: of errors that many callers get, which are shared. */
const beginnings = new WeakMap<ServiceError, string>();

export function errorBody(error: ServiceError, requestId: string): string {
  if (error.kind !== 'overloaded') return wholeBody(error, requestId);
  let beginning = beginnings.get(error);
  if (beginning === undefined) {
    beginning = wholeBody(error, '').slice(0, -emptyId.length);
    beginnings.set(error, beginning);
  }
  return `${beginning}${JSON.stringify(requestId)}}}`;
}

const emptyId = '""}}';

function wholeBody(error: ServiceError, requestId: string): string {
  return JSON.stringify({
    error: {
      code: error.entry.code,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      request_id: requestId,
    },
  });
}
