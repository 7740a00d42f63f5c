/**
 * A tenant's requests for access to modules: one small record, so that a module has one request at a time and one read
 * tells every gateway the granted modules. A new request replaces a decided one.
 *
 * | Status | By whom | To |
 * |---|---|---|
 * | none, granted | the tenant asks | granted where access is automatic, else pending |
 * | denied | the tenant asks | pending: the operator has decided by hand once |
 * | none, pending, denied | the operator grants | granted |
 * | pending, granted | the operator denies | denied |
 */
import type { PlannedModule } from '../../../gateway/api/modules.ts';
import type { RecordType, TenantStore, Versioned } from '../../store/contract.ts';

export type AccessStatus = 'pending' | 'granted' | 'denied';

export interface AccessRequest extends Versioned {
  readonly module: PlannedModule;
  readonly status: AccessStatus;
  /** The tenant's text. */
  readonly reason: string | null;
  /** The operator's text. */
  readonly note: string | null;
  readonly createdAtMs: number;
  readonly decidedAtMs: number | null;
}

export interface AccessRecord extends Versioned {
  readonly requests: readonly AccessRequest[];
}

export const accessIndex = 'module-access';
const recordId = 'module-access';

export const accessType: RecordType<AccessRecord> = {
  name: 'module_access',
  status: () => '',
  indices: () => [accessIndex],
};

const none: AccessRecord = { id: recordId, version: 0, requests: [] };

export async function readAccess(store: TenantStore, tenant: string): Promise<AccessRecord> {
  return (await store.read(tenant, accessType, recordId)) ?? none;
}

export function requestFor({ requests }: AccessRecord, module: PlannedModule): AccessRequest | undefined {
  return requests.find((request) => request.module === module);
}
