/** The error body of the API for every error: `{error: {code, message, details?, request_id}}`. */
import type { Log } from '../../actors/live/ports.ts';
import type { ServiceError } from '../../api/errors/service-error.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
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
