/** The changes that write steps of tokens and orders: the record, its events, and the time of its next job. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, DueEntry, NewEvent } from '../../store/contract.ts';
import { lastOrder, type OrderMove } from './machine.ts';
import { type OrderRecord, type OwnTokenRecord, orderOrigin, orderType, tokenType } from './record.ts';
import { isFinal } from './states.ts';
import { orderView, tokenFacts } from './view.ts';

export type TokenHappening = 'created' | 'deployed' | 'failed' | 'frozen' | 'unfrozen';

export function tokenChange(
  reporter: Reporter,
  happening: TokenHappening,
  before: OwnTokenRecord | undefined,
  after: OwnTokenRecord,
): Change {
  const event = eventOf(reporter, {
    type: `token.${happening}`,
    resource: tokenType.name,
    record: after,
    object: tokenFacts(after),
    provider: after.provider,
    connectionId: after.connectionId,
    correlationId: after.correlationId,
  });
  return {
    puts: [before === undefined ? create(tokenType, after) : update(tokenType, before, after)],
    events: [event],
  };
}

export function orderChange(reporter: Reporter, move: OrderMove): Change {
  const { before } = move;
  const after = lastOrder(move);
  return {
    puts: [before === undefined ? create(orderType, after) : update(orderType, before, after)],
    events: orderEvents(reporter, move),
    due: dueOf(after),
  };
}

export function orderMember(id: string): string {
  return `${orderOrigin}/${id}`;
}

/** Approved, it waits for its intent, whose end makes it due. */
function dueOf({ id, status, expiresAtMs }: OrderRecord): DueEntry[] {
  if (status === 'pending_approval') return [{ member: orderMember(id), atMs: expiresAtMs }];
  return status === 'reserve_check' || isFinal(status) ? [{ member: orderMember(id), atMs: undefined }] : [];
}

function orderEvents(reporter: Reporter, { before, passed }: OrderMove): NewEvent[] {
  const events: NewEvent[] = [];
  let previous = before;
  for (const order of passed) {
    if (order.approvals.length > (previous?.approvals.length ?? 0)) {
      events.push(orderEvent(reporter, 'approval_recorded', order));
    }
    if (order.status !== previous?.status) events.push(orderEvent(reporter, order.status, order));
    previous = order;
  }
  return events;
}

function orderEvent(reporter: Reporter, happening: string, order: OrderRecord): NewEvent {
  return eventOf(reporter, {
    type: `token.order.${happening}`,
    resource: orderType.name,
    record: order,
    object: orderView(order),
    provider: order.provider,
    connectionId: order.connectionId,
    correlationId: order.correlationId,
  });
}
