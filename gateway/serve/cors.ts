/**
 * Cross-origin requests of browsers (Fetch Standard, CORS protocol): pages of the listed origins may call the API and read its
 * answers. Requests carry tokens in a header, never cookies, so credentials are not allowed.
 */
import { isLoopbackOrigin } from '../api/hosts.ts';
import type { Reply, ServeRequest } from './contract.ts';

export interface Cors {
  /** What a browser asks before a request that no form can make: it needs no token. undefined: another request. */
  preflight(request: ServeRequest): Reply | undefined;
  /** Of every answer to the request. */
  headers(request: Pick<ServeRequest, 'headers'>): Readonly<Record<string, string>>;
}

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** That the API reads, beside those that browsers send unasked. */
const requestHeaders = 'authorization, content-type, idempotency-key, last-event-id, traceparent, x-request-id';
/** That a page may read, beside the usual ones. */
const exposedHeaders =
  'allow, etag, idempotent-replayed, ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id';
const preflightSeconds = 600;

/** `origins`: such as https://app.example.com, or "*" for all; "loopback": this machine's; none: no other origin's page. */
export function corsFor(origins: readonly string[] | 'loopback'): Cors {
  const listed = (of: string) =>
    origins === 'loopback' ? isLoopbackOrigin(of) : ['*', of].some((one) => origins.includes(one));
  const isAllowed = ({ headers: { origin } }: Pick<ServeRequest, 'headers'>) => origin !== undefined && listed(origin);
  return {
    preflight: (request) => (isAllowed(request) && isPreflight(request) ? allowed : undefined),
    headers: (request) => {
      if (origins.length === 0) return {};
      // A cache must not give one origin the answer to another.
      const vary = { vary: 'origin' };
      if (!isAllowed(request)) return vary;
      return {
        ...vary,
        'access-control-allow-origin': request.headers.origin!,
        'access-control-expose-headers': exposedHeaders,
      };
    },
  };
}

const allowed: Reply = {
  status: 204,
  headers: {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': String(preflightSeconds),
  },
};

function isPreflight({ method, headers }: ServeRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
