/** Calls a provider for any module: selects the adapter of its kind, and adds the request's trace data. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { CallMeta, ProviderAdapter } from '../../providers/port/port.ts';

/** Every kind has an adapter: one that is missing is a bug. */
export function adapterOf(
  { adapters }: { readonly adapters: ReadonlyMap<ProviderKind, ProviderAdapter> },
  kind: ProviderKind,
): ProviderAdapter {
  const adapter = adapters.get(kind);
  if (adapter === undefined) throw new Error(`there is no adapter for ${kind}`);
  return adapter;
}

export function metaOf({ tenant, nowMs, requestId, traceparent }: RequestContext): CallMeta {
  return { tenant, nowMs, correlationId: requestId, traceparent };
}
