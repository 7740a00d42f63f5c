/**
 * Finds the endpoint of a request. A path that exists under another method gets 405 with the permitted methods, before
 * authentication and before the body is read.
 */
import findMyWay from 'find-my-way';
import { ServiceError } from '../api/errors/service-error.ts';
import type { Endpoint } from './contract.ts';

export interface FoundEndpoint {
  readonly endpoint: Endpoint;
  /** Decoded. */
  readonly params: object;
  readonly query: object;
}

const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The router compiles a tree for each method. All paths stand in the tree of this one: what a path takes is decided behind it. */
const treeMethod = 'GET';

interface Place {
  readonly methods: ReadonlyMap<string, Endpoint>;
  readonly refusing: Endpoint;
}

/** What it returns throws ServiceError where there is no endpoint. Throws an Error when two endpoints are the same. */
export function endpointFinder(endpoints: readonly Endpoint[]): (method: string, target: string) => FoundEndpoint {
  const router = findMyWay({
    onBadUrl: () => {
      throw new ServiceError('invalidRequest', 'the path is not a valid URL');
    },
    onMaxParamLength: () => {
      throw new ServiceError('notFound', 'no such resource');
    },
  });
  for (const [path, methods] of byPath(endpoints)) {
    const refusing = refusal(path, everyMethod.filter((method) => methods.has(method)).join(', '));
    router.on(treeMethod, path, () => undefined, { methods, refusing } satisfies Place);
  }
  return (method, target) => {
    const found = router.find(treeMethod, target);
    if (found === null) throw noSuchPath(method, target);
    // The router's own refusals have no endpoint, and throw when they are run.
    if (found.store === null) found.handler(undefined as never, undefined as never, {}, null, {});
    checkEscapes(target);
    const { methods, refusing } = found.store as Place;
    return { endpoint: methods.get(method) ?? refusing, params: found.params, query: found.searchParams };
  };
}

/** The router leaves an escape that is no UTF-8 as it stands, so that a caller would search for another text. */
function checkEscapes(target: string): void {
  const query = target.slice(target.indexOf('?') + 1);
  if (query === target || !query.includes('%')) return;
  for (const pair of query.split('&')) {
    try {
      decodeURIComponent(pair);
    } catch {
      const field = pair.split('=', 1)[0]!.slice(0, 100);
      throw new ServiceError('invalidRequest', 'the query is not valid', {
        details: [{ field, issue: 'invalid_utf8', message: 'takes percent-encoded UTF-8' }],
      });
    }
  }
}

/** It quotes the path without its query, cut short: it is the caller's text. Both named pages need no token. */
export function noSuchPath(method: string, target: string): ServiceError {
  const path = target.split('?', 1)[0]!.slice(0, 200);
  return new ServiceError(
    'notFound',
    `no such path: ${method} ${path}; GET /v1/openapi.json lists all paths, and /v1/docs shows them in a browser`,
  );
}

function byPath(endpoints: readonly Endpoint[]): ReadonlyMap<string, ReadonlyMap<string, Endpoint>> {
  const paths = new Map<string, Map<string, Endpoint>>();
  for (const endpoint of endpoints) {
    const methods = paths.get(endpoint.path) ?? new Map<string, Endpoint>();
    paths.set(endpoint.path, methods);
    for (const method of endpoint.answersHead === true ? [endpoint.method, 'HEAD'] : [endpoint.method]) {
      if (methods.has(method)) throw new Error(`${method} ${endpoint.path} is served twice`);
      methods.set(method, endpoint);
    }
  }
  return paths;
}

function refusal(path: string, allow: string): Endpoint {
  return {
    method: '',
    path,
    run: async () => {
      throw new ServiceError('methodNotAllowed', `this path takes ${allow}`, { headers: { allow } });
    },
  };
}
