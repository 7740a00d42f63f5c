/** Whether a tenant of a sandbox may use a module that requires an access request. */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { PlannedModule } from '../../../gateway/api/modules.ts';
import type { TenantStore } from '../../store/contract.ts';
import { type AccessRecord, readAccess, requestFor } from './record.ts';

export interface ModuleAccess {
  /** Requests are granted at once; false: the operator decides. */
  readonly isAutomatic: boolean;
  /** The banner's tenant, which has every module. */
  readonly openTenant: string | undefined;
}

export function isGranted({ openTenant }: ModuleAccess, tenant: string, module: PlannedModule, record: AccessRecord) {
  return tenant === openTenant || requestFor(record, module)?.status === 'granted';
}

/** The 403 for a tenant without access, which names the request; undefined: it may. Rejects with StoreUnavailable. */
export async function moduleRefusal(
  access: ModuleAccess,
  store: TenantStore,
  tenant: string,
  module: PlannedModule,
): Promise<ServiceError | undefined> {
  if (tenant === access.openTenant) return undefined;
  const record = await readAccess(store, tenant);
  if (isGranted(access, tenant, module, record)) return undefined;
  const request = requestFor(record, module);
  const ask = `POST /v1/modules/${module}/access-requests`;
  const stands = {
    pending: `the request ${request?.id} waits for the operator`,
    denied: `the operator has denied the request ${request?.id}: ask again with ${ask}`,
    none: `ask for it with ${ask}`,
  }[request?.status === 'pending' || request?.status === 'denied' ? request.status : 'none'];
  return new ServiceError('insufficientScope', `access to the module ${module} needs a request: ${stands}`, {
    details: [{ field: '', issue: 'module_access_needed', message: ask }],
  });
}
