/**
 * A tenant's change control: how many others must approve a change of its rules. One small record, so that one read tells every
 * gateway, and a guard of its version binds a change to it. A tenant without one has it off.
 */
import type Type from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { create, update } from '../../store/changes.ts';
import type { Guard, RecordType, Versioned } from '../../store/contract.ts';
import type { ChangeControl, ChangeControlBody } from './schemas.ts';

export interface ControlRecord extends Versioned {
  /** 0: off. */
  readonly quorum: number;
  /** Actors; empty: any with the scope. */
  readonly approvers: readonly string[];
  readonly timeoutS: number;
}

export const timeoutDefaultS = 86_400;
const recordId = 'change-control';

export const controlType: RecordType<ControlRecord> = {
  name: 'change_control',
  status: () => '',
  indices: () => [],
};

const off: ControlRecord = { id: recordId, version: 0, quorum: 0, approvers: [], timeoutS: timeoutDefaultS };

export async function readControl({ store, tenant }: Pick<RequestContext, 'store' | 'tenant'>): Promise<ControlRecord> {
  return (await store.read(tenant, controlType, recordId)) ?? off;
}

export function unchangedControl({ id, version }: ControlRecord): Guard {
  return { kind: 'version', id, version };
}

/** The same terms again change nothing. Throws ServiceError 400. */
export async function setControl(
  context: RequestContext,
  body: Type.Static<typeof ChangeControlBody>,
): Promise<Answer> {
  const { quorum, timeout_s: timeoutS = timeoutDefaultS } = body;
  const approvers = [...new Set(body.approvers)];
  if (approvers.length > 0 && approvers.length < quorum) {
    const message = `takes at most ${approvers.length}, the number of approvers`;
    throw invalidFields([{ field: 'quorum', issue: 'too_large', message }]);
  }
  const before = await readControl(context);
  const after: ControlRecord = { ...before, version: before.version + 1, quorum, approvers, timeoutS };
  const object = controlView(after);
  if (JSON.stringify(object) === JSON.stringify({ ...controlView(before), version: after.version })) {
    return { status: 200, body: controlView(before) };
  }
  return {
    status: 200,
    body: object,
    change: {
      puts: [before.version === 0 ? create(controlType, after) : update(controlType, before, after)],
      events: [eventOf(context, { type: 'change_control.updated', resource: 'change_control', record: after, object })],
    },
  };
}

export function controlView({
  quorum,
  approvers,
  timeoutS,
  version,
}: ControlRecord): Type.Static<typeof ChangeControl> {
  return { quorum, approvers: [...approvers], timeout_s: timeoutS, version };
}
