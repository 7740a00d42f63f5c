/**
 * The requests that an API fault touches. A route is a pattern of segments: `:name` and `*` match any one. Requests that
 * control the sandbox itself are no requests of the API: the engine never gets them.
 */
import type { ApiServerRequest, ApiServerVerdict } from '../vocabulary/engine-contract.ts';
import type { Fault, FaultOf } from '../vocabulary/fault.ts';
import type { apiServerKinds } from '../vocabulary/kinds.ts';
import { isApiServerKind } from '../vocabulary/kinds.ts';

export type ApiServerFault = FaultOf<(typeof apiServerKinds)[number]>;

export function isApiServerFault(fault: Fault): fault is ApiServerFault {
  return isApiServerKind(fault.fault);
}

export function touchesRequest({ route, rpc }: ApiServerFault, request: ApiServerRequest): boolean {
  if (route === undefined && rpc === undefined) return true;
  if (request.door === 'grpc') return request.rpc === rpc;
  if (route === undefined) return false;
  const [, method, pattern = ''] = /^(?:([A-Z]+) )?(.*)$/.exec(route) ?? [];
  return (method === undefined || method === request.method) && matches(pattern.split('/'), request.path.split('/'));
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.length !== path.length) return false;
  return pattern.every((part, index) => {
    const given = path[index]!;
    return part === given || ((part.startsWith(':') || part === '*') && given !== '');
  });
}

/** The fate of a request that these faults have triggered at: delays add up, and the first fault with another effect decides. */
export function apiServerVerdict(
  triggered: readonly { readonly id: string; readonly fault: ApiServerFault }[],
): ApiServerVerdict {
  const delayMs = triggered.reduce((sum, { fault }) => sum + (fault.fault === 'answer_slow' ? fault.by_ms : 0), 0);
  const faults = triggered.map(({ id }) => id);
  const deciding = triggered.find(({ fault }) => fault.fault !== 'answer_slow')?.fault;
  switch (deciding?.fault) {
    case 'answer_status': {
      const { status, retry_after_s: retryAfterS } = deciding;
      return { fate: 'refused', status, ...(retryAfterS !== undefined && { retryAfterS }), delayMs, faults };
    }
    case 'answer_lost':
      return { fate: 'lost', delayMs, faults };
    case 'answer_cut':
      return { fate: 'cut', delayMs, faults };
    default:
      return { fate: 'answered', delayMs, faults };
  }
}
