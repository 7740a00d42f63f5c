/** What follows from a route, and what contradicts itself in one. */

import type { Route } from './route.ts';
import type { JsonSchema } from './schema-text.ts';

/** POSTs take an Idempotency-Key unless they say otherwise. */
export function isIdempotent({ method, idempotent }: Pick<Route, 'method' | 'idempotent'>): boolean {
  return idempotent ?? method === 'POST';
}

/** Answers with a stream of bytes, not with JSON. */
export function isStreaming({ responses }: Pick<Route, 'responses'>): boolean {
  return Object.values(responses).some(({ contentType }) => contentType !== undefined);
}

/** The names of a path's parameters, in order. */
export function pathParameters(path: string): readonly string[] {
  return [...path.matchAll(/:([A-Za-z0-9_]+)/g)].map(([, name]) => name!);
}

/** Throws an Error that names the route and its contradiction: a bug of ours, found when the app is built. */
export function assertRoutes(routes: readonly Route[]): void {
  const operationIds = new Set<string>();
  for (const route of routes) {
    const { operationId, path, params, scope, method, body, idempotencyField, responses, headers } = route;
    const need = (holds: boolean, what: string): void => {
      if (!holds) throw new Error(`route ${operationId} (${method} ${path}): ${what}`);
    };
    need(!operationIds.has(operationId), 'the operationId is taken');
    operationIds.add(operationId);
    const declared = Object.keys((params as JsonSchema | undefined)?.properties ?? {});
    need(String([...declared].sort()) === String([...pathParameters(path)].sort()), 'params must be those of the path');
    need(scope !== undefined || method === 'GET', 'a public route only reads');
    need(method !== 'GET' || (body === undefined && !isIdempotent(route)), 'a GET has neither a body nor a key');
    const fields = (body as JsonSchema | undefined)?.properties ?? {};
    need(idempotencyField === undefined || fields[idempotencyField] !== undefined, 'idempotencyField is no field');
    need(Object.keys(responses).length > 0, 'a response is needed');
    need(method === 'GET' || !isStreaming(route), 'a stream only reads');
    const names = Object.keys(headers?.properties ?? {});
    need(
      names.every((name) => name === name.toLowerCase()),
      'headers are named in lower case',
    );
  }
}
