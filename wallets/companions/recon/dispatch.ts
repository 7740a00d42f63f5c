/** Due work of a gateway: adds unfinished jobs to the workers' queue repeatedly until they have ended. */
import type { TenantStore } from '../../store/contract.ts';
import { isOver, jobDuePrefix, jobType } from './job-record.ts';
import type { ReconQueue } from './queue.ts';

/** `member`: of the tenant's due work. Throws when the store or the queue is unreachable: then it is due again soon. */
export function jobDispatcher(store: TenantStore, queue: ReconQueue) {
  return async (tenant: string, member: string): Promise<void> => {
    const jobId = member.slice(jobDuePrefix.length);
    const job = await store.read(tenant, jobType, jobId);
    if (job === undefined || isOver(job.status)) {
      await store.commit(tenant, { due: [{ member, atMs: undefined }] });
      return;
    }
    // Its lease in the due work makes it due again, unless its run sets another time.
    await queue.add({ tenant, jobId });
  };
}
