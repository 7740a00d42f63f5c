/** The operator's decisions about access to modules: for the command line, without the API. */
import type { Ports } from '../../../core/actors/contract.ts';
import type { PlannedModule } from '../../../gateway/api/modules.ts';
import { newId } from '../../../proto/ids.ts';
import type { TenantStore } from '../../store/contract.ts';
import { decide } from './decide.ts';
import { type AccessRequest, readAccess, requestFor } from './record.ts';

export interface AccessDecision {
  readonly tenant: string;
  readonly module: PlannedModule;
  readonly status: 'granted' | 'denied';
  /** A text for the tenant. */
  readonly note: string | null;
}

/** The most retries of a decision after a concurrent request of the tenant. */
const conflictRetriesMax = 10;

/** The module's request after the decision; undefined: no request to deny. Rejects with StoreUnavailable. */
export async function decideAccess(
  store: TenantStore,
  { tenant, module, status, note }: AccessDecision,
  { clock, random }: Pick<Ports, 'clock' | 'random'>,
): Promise<AccessRequest | undefined> {
  for (let attempt = 0; attempt <= conflictRetriesMax; attempt += 1) {
    const record = await readAccess(store, tenant);
    const nowMs = clock.nowMs();
    const requestId = newId('req', nowMs, random);
    const reporter = { nowMs, requestId, newId: (prefix: 'acr' | 'evt') => newId(prefix, nowMs, random) };
    const decided = decide(record, module, status, note, reporter);
    if (decided === undefined) return requestFor(record, module);
    if ((await store.commit(tenant, decided.change)).committed) return decided.request;
  }
  throw new Error(`the access of ${tenant} to ${module} keeps changing`);
}
