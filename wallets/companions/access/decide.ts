/** The effect of a tenant's request and of an operator's decision on a module's access: the table of record.ts. Pure. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import type { PlannedModule } from '../../../gateway/api/modules.ts';
import { create, update } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import { type AccessRecord, type AccessRequest, accessType, requestFor } from './record.ts';
import { accessRequestView } from './view.ts';

/** A pending request stays unchanged. */
export function ask(
  record: AccessRecord,
  module: PlannedModule,
  reason: string | null,
  isAutomatic: boolean,
  reporter: Reporter,
): { readonly request: AccessRequest; readonly change: Change | undefined } {
  const before = requestFor(record, module);
  if (before?.status === 'pending') return { request: before, change: undefined };
  const { nowMs } = reporter;
  const asked: AccessRequest = {
    id: reporter.newId('acr'),
    version: 1,
    module,
    status: 'pending',
    reason,
    note: null,
    createdAtMs: nowMs,
    decidedAtMs: null,
  };
  const requested = { type: 'requested', request: asked };
  if (!isAutomatic || before?.status === 'denied') {
    return { request: asked, change: accessChange(record, reporter, [requested]) };
  }
  const request: AccessRequest = { ...asked, version: 2, status: 'granted', decidedAtMs: nowMs };
  return { request, change: accessChange(record, reporter, [requested, { type: 'granted', request }]) };
}

/** undefined: no decision, since the module already has that status, or no request to deny. */
export function decide(
  record: AccessRecord,
  module: PlannedModule,
  status: 'granted' | 'denied',
  note: string | null,
  reporter: Reporter,
): { readonly request: AccessRequest; readonly change: Change } | undefined {
  const before = requestFor(record, module);
  if (before?.status === status || (before === undefined && status === 'denied')) return undefined;
  const { nowMs } = reporter;
  const asked = before ?? {
    id: reporter.newId('acr'),
    version: 0,
    module,
    reason: null,
    createdAtMs: nowMs,
  };
  const request: AccessRequest = { ...asked, version: asked.version + 1, status, note, decidedAtMs: nowMs };
  return { request, change: accessChange(record, reporter, [{ type: status, request }]) };
}

/** The change that replaces the module's earlier request by `request`, with an event for each of `happened`. */
function accessChange(
  before: AccessRecord,
  reporter: Reporter,
  happened: readonly { readonly type: string; readonly request: AccessRequest }[],
): Change {
  const { module } = happened[0]!.request;
  const others = before.requests.filter((request) => request.module !== module);
  const after: AccessRecord = {
    ...before,
    version: before.version + 1,
    requests: [...others, happened.at(-1)!.request],
  };
  return {
    puts: [before.version === 0 ? create(accessType, after) : update(accessType, before, after)],
    events: happened.map(({ type, request }) =>
      eventOf(reporter, {
        type: `module_access.${type}`,
        resource: 'module_access_request',
        record: request,
        object: accessRequestView(request),
      }),
    ),
  };
}
