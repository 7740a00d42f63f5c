/**
 * The documented outcomes of every operation, from the registry of routes: a pair is an operation and one of them. A search counts
 * the runs that performed each.
 */
import type { Route } from '../../../gateway/api/route.ts';
import { isIdempotent, isStreaming, pathParameters } from '../../../gateway/api/route-table.ts';

/** Routes of the sandbox's own control have a page and a world of their own; a stream is no call with one answer. */
export function isSearched(route: Route): boolean {
  const { path, tag } = route;
  return !isStreaming(route) && (tag !== 'Sandbox' || path.startsWith('/v1/sandbox/tokens'));
}

/** As landmarks, e.g. "pair createWallet 201", "pair createWallet replayed". */
export function outcomesOf(route: Route): readonly string[] {
  const { operationId, responses, errors = [], scope, body, query } = route;
  const isRead = pathParameters(route.path).length > 0 && errors.includes(404);
  const outcomes = [
    ...Object.keys(responses),
    ...errors,
    ...(body === undefined && query === undefined ? [] : [400]),
    ...(scope === undefined ? [] : [401]),
    ...(scope === undefined || scope === 'any' ? [] : [403]),
    ...(isRead ? ['of another tenant'] : []),
    ...(isIdempotent(route) ? ['replayed', 'reused'] : []),
  ];
  return outcomes.map((outcome) => `pair ${operationId} ${outcome}`);
}

/** Whether the document has this status for the operation: those of every route, and its own. */
export function isDocumented({ responses, errors = [] }: Route, status: number): boolean {
  return status in responses || (errors as readonly number[]).includes(status) || everywhere.has(status);
}

const everywhere = new Set([400, 401, 403, 429, 503]);

/** The route of a request. Of two that fit, the one with fewer parameters. */
export function routeFinder(routes: readonly Route[]): (method: string, target: string) => Route | undefined {
  const forms = routes
    .map((route) => ({ route, form: new RegExp(`^${route.path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}$`) }))
    .sort((one, other) => pathParameters(one.route.path).length - pathParameters(other.route.path).length);
  return (method, target) => {
    const [path = ''] = target.split('?');
    return forms.find(({ route, form }) => route.method === method && form.test(path))?.route;
  };
}
