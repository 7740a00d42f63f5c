/**
 * Whether a tenant is frozen: one small record, so that one read tells every gateway, and a guard of its version binds a change to
 * it. A tenant that was never frozen has none.
 */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { becoming } from '../../../gateway/api/state-changes.ts';
import type { Guard, RecordType, TenantStore, Versioned } from '../../store/contract.ts';

export const tenantStatuses = ['active', 'frozen'] as const;
export type TenantStatus = (typeof tenantStatuses)[number];

/** By operation; repeated, it changes nothing. */
export const tenantStates = {
  freeze: becoming<TenantStatus>('frozen', ...tenantStatuses),
  unfreeze: becoming<TenantStatus>('active', ...tenantStatuses),
};

export interface TenantRecord extends Versioned {
  readonly status: TenantStatus;
  /** The actor who changed it last, when, and why. */
  readonly by: string | null;
  readonly atMs: number | null;
  readonly reason: string | null;
}

/** When work that a freeze stops, of a tenant, a wallet or a token, is tried again. */
export const frozenRetryMs = 5_000;

const recordId = 'tenant';

export const tenantType: RecordType<TenantRecord> = {
  name: 'tenant',
  status: ({ status }) => status,
  indices: () => [],
};

const neverFrozen: TenantRecord = { id: recordId, version: 0, status: 'active', by: null, atMs: null, reason: null };

export async function readTenant(store: Pick<TenantStore, 'read'>, tenant: string): Promise<TenantRecord> {
  return (await store.read(tenant, tenantType, recordId)) ?? neverFrozen;
}

/** A guard: a freeze in the meantime makes the handler run again. Throws ServiceError 409 while the tenant is frozen. */
export async function unfrozenTenant({ store, tenant }: Pick<RequestContext, 'store' | 'tenant'>): Promise<Guard> {
  const record = await readTenant(store, tenant);
  if (record.status === 'frozen') throw tenantFrozenError();
  return unchangedTenant(record);
}

export function unchangedTenant({ id, version }: TenantRecord): Guard {
  return { kind: 'version', id, version };
}

export function tenantFrozenError(): ServiceError {
  const message = 'unfreeze it first: POST /v1/tenant/unfreeze';
  return new ServiceError('tenantFrozen', 'the tenant is frozen: nothing of it is initiated, approved or signed', {
    details: [{ field: 'tenant.status', issue: 'frozen', message }],
  });
}
