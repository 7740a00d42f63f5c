/** Access requests as the API shows them. */
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import type { AccessRequest } from './record.ts';

export function accessRequestView(request: AccessRequest): object {
  const { id, module, status, reason, note, createdAtMs, decidedAtMs } = request;
  return {
    id,
    module,
    status,
    reason,
    note,
    created_at: timestamp(createdAtMs),
    decided_at: timestampOrNull(decidedAtMs),
  };
}
