/** A coordinator's store that returns records that no coordinator wrote, or has no space for a tenant, while a fault says so. */
import type { CoordinatorRecord, CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import type { SyncStore } from './memory-stores.ts';

const tampered: CoordinatorRecord = { kind: 'tampered' };

export function strangeStore(
  store: SyncStore<CoordinatorWrite, CoordinatorRecord>,
  shows: (what: 'store_tampered' | 'store_full') => boolean,
): SyncStore<CoordinatorWrite, CoordinatorRecord> {
  /** Replaces a session or key that exists. */
  const seen = (record: CoordinatorRecord | undefined) =>
    (record?.kind === 'session' || record?.kind === 'key') && shows('store_tampered') ? tampered : record;
  return {
    loadNow: (key) => seen(store.loadNow(key)),
    writeNow: (write) => {
      if (write.kind === 'create' && write.counted && shows('store_full')) {
        return { kind: 'conflict', code: 'QUOTA', current: undefined };
      }
      const outcome = store.writeNow(write);
      return outcome.kind === 'conflict' ? { ...outcome, current: seen(outcome.current) } : outcome;
    },
  };
}
