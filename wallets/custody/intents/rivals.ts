/**
 * Transactions that compete for one place: one number of an account, or the same coins. Each but the first is to replace the one before
 * it. At most one is ever mined; in the change that says so, the others fail as `REPLACED`.
 */
import type { TenantStore } from '../../store/contract.ts';
import type { IntentFailure } from './machine.ts';
import { type IntentRecord, intentType } from './record.ts';
import { isFinal } from './states.ts';

export const replacedStatus = 'REPLACED';

/** The open ones that compete with it. */
export async function rivalsOf(
  store: Pick<TenantStore, 'read'>,
  tenant: string,
  record: IntentRecord,
): Promise<readonly IntentRecord[]> {
  const rivals: IntentRecord[] = [];
  for (const next of [({ replaces }: IntentRecord) => replaces?.id, ({ replacedBy }: IntentRecord) => replacedBy]) {
    let id = next(record);
    while (id !== undefined) {
      const rival = await store.read(tenant, intentType, id);
      if (rival === undefined || isFinal(rival.status)) break;
      rivals.push(rival);
      id = next(rival);
    }
  }
  return rivals;
}

/** The end of a rival of the one that was mined. */
export function lostTo({ id, providerTxId }: IntentRecord): IntentFailure {
  const message = `the transaction ${providerTxId} of ${id} was mined in its place; nothing is spent`;
  return {
    providerTxId: null,
    providerStatus: null,
    subStatus: replacedStatus,
    error: { code: replacedStatus, message },
  };
}
