/** The answers of API faults, in every world: the affected requests, and the content of a refusal. */
import type { ApiServerVerdict } from './vocabulary/engine-contract.ts';

const always = /^\/v1\/(sandbox\/|health$)/;

/** The sandbox API (`/v1/sandbox/…`) and health always pass, so that a client can remove a fault of every route. */
export function isFaultyPath(path: string): boolean {
  return path.startsWith('/') && !always.test(path);
}

export function isUntouched({ fate, delayMs }: ApiServerVerdict): boolean {
  return fate === 'answered' && delayMs === 0;
}

const codes: Readonly<Record<number, string>> = {
  401: 'authentication_failed',
  403: 'insufficient_scope',
  404: 'not_found',
  409: 'conflict',
  422: 'provider_rejected',
  429: 'rate_limited',
  502: 'provider_unavailable',
  503: 'provider_unavailable',
  504: 'provider_unavailable',
};

/** A refusal over HTTP, in the form of the service's errors. */
export function refusalOf(verdict: ApiServerVerdict, requestId: string) {
  const { status = 503 } = verdict;
  const retryAfterS = retryAfterOf(verdict);
  const code = codes[status] ?? (status >= 500 ? 'internal_error' : 'invalid_request');
  const body = JSON.stringify({
    error: { code, message: 'refused by a fault of the door', request_id: requestId },
  });
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
  };
  return { status, headers, body };
}

/** As the service's own refusals of load, and of what is unreachable, always say it. */
function retryAfterOf({ status = 503, retryAfterS }: ApiServerVerdict): number | undefined {
  return retryAfterS ?? (status === 429 || status === 503 ? 1 : undefined);
}

/** The gRPC status for each HTTP status of the service, as the service maps them (gateway/api/errors/kinds.ts), and for those of proxies. */
const grpcStatuses: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  405: 12,
  408: 4,
  409: 10,
  413: 8,
  415: 3,
  421: 3,
  422: 9,
  429: 8,
  431: 8,
  500: 13,
  501: 12,
  502: 14,
  503: 14,
  504: 4,
};
const unknownStatus = 2;

/** A refusal over gRPC. */
export function grpcRefusalOf({ status = 503 }: ApiServerVerdict): { readonly code: number; readonly details: string } {
  return { code: grpcStatuses[status] ?? unknownStatus, details: 'refused by a fault of the door' };
}
