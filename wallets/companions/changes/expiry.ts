/** The due work of proposals: each expires when its time is over. */
import type { Ports } from '../../../core/actors/contract.ts';
import { newId } from '../../../proto/ids.ts';
import type { TenantStore } from '../../store/contract.ts';
import { nextProposal, proposalDuePrefix } from './machine.ts';
import { proposalType } from './record.ts';

export interface ExpiryDeps extends Pick<Ports, 'clock' | 'random'> {
  readonly store: TenantStore;
}

/** A vote at the same moment wins or loses: what is refused is due again after its lease. */
export function proposalJobs({ store, clock, random }: ExpiryDeps) {
  const expire = async (tenant: string, member: string): Promise<void> => {
    const id = member.slice(proposalDuePrefix.length);
    const record = await store.read(tenant, proposalType, id);
    const nowMs = clock.nowMs();
    const reporter = { nowMs, requestId: id, newId: (prefix: 'evt') => newId(prefix, nowMs, random) };
    const isOver = record?.status === 'pending' && record.expiresAtMs <= nowMs;
    const done = { due: [{ member, atMs: record?.status === 'pending' ? record.expiresAtMs : undefined }] };
    await store.commit(tenant, isOver ? nextProposal(reporter, record, 'expired').change : done);
  };
  return [[proposalDuePrefix, expire]] as const;
}
