/** Handlers of routes without a gateway: over a store in memory, at a time of the test's own. */
import { expect } from 'vitest';
import { silentLog, systemRandom } from '../../../../core/actors/live/ports.ts';
import { contextOf, freshAttempt } from '../../../../gateway/api/context.ts';
import type { Principal } from '../../../../gateway/api/principal.ts';
import type { Answer, RequestContext, Route } from '../../../../gateway/api/route.ts';
import { allScopes } from '../../../../gateway/api/scopes.ts';
import { tenantRoutes } from '../../../../wallets/custody/tenant/public.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';

export interface Caller extends Partial<Principal> {
  readonly tenant: string;
}

export function contextAt(nowMs: number, store: TenantStore, { tenant, ...over }: Caller): RequestContext {
  const principal: Principal = {
    ...{ tenant, environment: 'sandbox', scopes: new Set(allScopes), tokenId: 'tok_1', actorId: 'tok_1' },
    providerConnectionIds: undefined,
    ...over,
  };
  const base = { tenant, principal, requestId: 'req_1', traceparent: '', store, log: silentLog };
  return contextOf({ ...base, cursorKey: new Uint8Array(32) }, freshAttempt(nowMs, systemRandom), nowMs);
}

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a test reads a field or two
type Body = any;

/** The answer's body; its change is committed, or refused as the answer says. */
export async function answered(context: RequestContext, answer: Answer | Promise<Answer>): Promise<Body> {
  const { body, change, onRefusal } = await answer;
  const outcome = change && (await context.store.commit(context.tenant, change));
  if (outcome === undefined || outcome.committed) return body;
  if (onRefusal === undefined) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return onRefusal(outcome.refusal).body;
}

export interface Input {
  readonly params?: object;
  readonly query?: object;
  readonly body?: object;
}

/** What a route answers, by its operation. */
export async function call(
  routes: readonly Route[],
  operationId: string,
  context: RequestContext,
  input: Input = {},
): Promise<Body> {
  const { handle } = routes.find((route) => route.operationId === operationId)!;
  const given = { params: {}, query: {}, body: {}, headers: {}, idempotencyKey: undefined, ...input };
  return answered(context, handle(context, given));
}

/** By its route; `action`: freezeTenant or unfreezeTenant. */
export async function setFrozen(store: TenantStore, tenant: string, action = 'freezeTenant'): Promise<void> {
  await call(tenantRoutes(), action, contextAt(0, store, { tenant }));
}

export const frozenTenant = () => refusal('tenantFrozen', 'tenant.status', 'frozen');

/** Status of the kind, and field and issue of the first detail, of what is thrown. */
export function refusal(kind: string, field?: string, issue?: string) {
  return expect.objectContaining({
    kind,
    ...(field !== undefined && {
      details: expect.arrayContaining([expect.objectContaining({ field, ...(issue !== undefined && { issue }) })]),
    }),
  });
}

/** Types of all events of a tenant, in their order. */
export async function eventTypes(store: TenantStore, tenant: string): Promise<readonly string[]> {
  const { events } = await store.events(tenant, { afterSequence: 0, limit: 1_000, types: [] });
  return events.map(({ type }) => type);
}
