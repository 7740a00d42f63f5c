/**
 * /v1/tenant: freezing a tenant. One person stops its transfers and signatures at once; unfreezing has a scope of its own.
 * The record alone decides (record.ts), and every process reads it before it orders a signature.
 */
import Type from 'typebox';
import { eventOf } from '../../../gateway/api/event.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, Line, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { timestampOrNull } from '../../../proto/timestamps.ts';
import { create, update } from '../../store/changes.ts';
import { readTenant, type TenantRecord, tenantStates, tenantStatuses, tenantType } from './record.ts';

export const Tenant = Closed(
  {
    id: Type.String(),
    status: OneOf(tenantStatuses),
    changed_by: Nullable(Type.String({ description: 'the actor who froze or unfroze it last' })),
    changed_at: Nullable(Timestamp),
    reason: Nullable(Type.String()),
  },
  { title: 'Tenant' },
);

const Body = Closed({ reason: Type.Optional(Line(500, 'why')) });

export function tenantRoutes(): readonly Route[] {
  return [
    route({
      tag: 'Tenant',
      method: 'GET',
      path: '/v1/tenant',
      operationId: 'getTenant',
      clientName: 'tenant.get',
      summary: 'Show whether the tenant is frozen',
      scope: 'any',
      responses: { 200: { schema: Tenant, description: 'the tenant' } },
      handle: async ({ store, tenant }) => ({ status: 200, body: tenantView(tenant, await readTenant(store, tenant)) }),
    }),
    route({
      tag: 'Tenant',
      method: 'POST',
      path: '/v1/tenant/freeze',
      operationId: 'freezeTenant',
      clientName: 'tenant.freeze',
      example: { reason: 'an approver lost a laptop' },
      summary: 'Freeze the tenant: nothing is initiated, approved or signed',
      description:
        'New intents, orders, plans, approvals and signatures are 409, approved intents wait as `TENANT_FROZEN`. What a provider or a chain has already continues; votes that reject, and cancelling, are possible.',
      scope: 'tenant:freeze',
      body: Body,
      bodyOptional: true,
      responses: { 200: { schema: Tenant, description: 'the tenant, frozen' } },
      states: tenantStates.freeze,
      handle: (context, { body }) => setFrozen(context, true, body.reason ?? null),
    }),
    route({
      tag: 'Tenant',
      method: 'POST',
      path: '/v1/tenant/unfreeze',
      operationId: 'unfreezeTenant',
      clientName: 'tenant.unfreeze',
      example: { reason: 'its token is revoked' },
      summary: 'Unfreeze the tenant',
      scope: 'tenant:unfreeze',
      body: Body,
      bodyOptional: true,
      responses: { 200: { schema: Tenant, description: 'the tenant, active' } },
      errors: [409],
      states: tenantStates.unfreeze,
      controlled: async ({ store, tenant }) => tenantView(tenant, await readTenant(store, tenant)),
      handle: (context, { body }) => setFrozen(context, false, body.reason ?? null),
    }),
  ];
}

/** Freezing what is frozen changes nothing, and so does unfreezing what is active. */
async function setFrozen(context: RequestContext, isFrozen: boolean, reason: string | null): Promise<Answer> {
  const { store, tenant, principal, nowMs } = context;
  const before = await readTenant(store, tenant);
  const status = isFrozen ? 'frozen' : 'active';
  if (before.status === status) return { status: 200, body: tenantView(tenant, before) };
  const after = {
    ...before,
    version: before.version + 1,
    status,
    by: actorOf(principal),
    atMs: nowMs,
    reason,
  } as const;
  const object = tenantView(tenant, after);
  return {
    status: 200,
    body: object,
    change: {
      puts: [before.version === 0 ? create(tenantType, after) : update(tenantType, before, after)],
      events: [
        eventOf(context, {
          type: `tenant.${isFrozen ? 'frozen' : 'unfrozen'}`,
          resource: 'tenant',
          record: after,
          object,
        }),
      ],
    },
  };
}

function tenantView(tenant: string, { status, by, atMs, reason }: TenantRecord) {
  return { id: tenant, status, changed_by: by, changed_at: timestampOrNull(atMs), reason };
}
