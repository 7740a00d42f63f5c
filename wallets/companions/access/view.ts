/** Access requests as the API shows them. */
import type { AccessRequest } from './record.ts';

export function accessRequestView(request: AccessRequest): object {
  const { id, module, status, reason, note, createdAtMs, decidedAtMs } = request;
  return {
    id,
    module,
    status,
    reason,
    note,
    created_at: new Date(createdAtMs).toISOString(),
    decided_at: decidedAtMs === null ? null : new Date(decidedAtMs).toISOString(),
  };
}
