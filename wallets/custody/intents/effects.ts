/**
 * The change of a move of an intent: the record, its events, its balances and the time at which a gateway must handle it next.
 * The caller merges in further parts (nonces, guards).
 */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, DueEntry, NewEvent } from '../../store/contract.ts';
import { ledgerOf } from './ledger.ts';
import { lastOf, type Move } from './machine.ts';
import { type IntentRecord, intentType, isSettled } from './record.ts';
import { intentView } from './view.ts';

/** How long only the gateway that made an intent may continue it. */
export const handoverMs = 2_000;

/** `dueAtMs`: when to handle it next; by default the time for its status. */
export function changeOf(reporter: Reporter, move: Move, dueAtMs?: number): Change {
  const { before } = move;
  const after = lastOf(move);
  return {
    puts: [before === undefined ? create(intentType, after) : update(intentType, before, after)],
    ledger: ledgerOf(before, after),
    events: eventsOf(reporter, move),
    due: isSettled(after)
      ? [dueOf(after, undefined), ...originDue(after, reporter.nowMs)]
      : [dueOf(after, dueAtMs ?? dueAtOf(after, reporter.nowMs))],
  };
}

export function dueOf(record: IntentRecord, atMs: number | undefined): DueEntry {
  return { member: `${duePrefix}${record.id}`, atMs };
}

/** Notifies the owner of the intent that it is over. */
function originDue({ origin }: IntentRecord, atMs: number): DueEntry[] {
  return origin === undefined ? [] : [{ member: `${origin.kind}/${origin.id}`, atMs }];
}

export const duePrefix = 'intent/';

function dueAtOf(record: IntentRecord, nowMs: number): number {
  return record.status === 'pending_approval' ? record.expiresAtMs : nowMs + handoverMs;
}

/** Every version of an intent has an event: one that changes neither status nor votes is `updated`. */
function eventsOf(reporter: Reporter, move: Move): NewEvent[] {
  const { before, passed } = move;
  const events: NewEvent[] = [];
  let previous = before;
  for (const record of passed) {
    if (previous !== undefined && record.approvals.length > previous.approvals.length) {
      events.push(intentEvent(reporter, 'approval_recorded', record));
    }
    if (record.status !== previous?.status) {
      const happening = previous?.status === 'completed' ? 'reorged' : record.status;
      events.push(intentEvent(reporter, happening, record));
    }
    previous = record;
  }
  return events.length > 0 ? events : [intentEvent(reporter, 'updated', lastOf(move))];
}

function intentEvent(reporter: Reporter, happening: string, record: IntentRecord): NewEvent {
  return eventOf(reporter, {
    type: `transaction_intent.${happening}`,
    resource: intentType.name,
    record,
    object: intentView(record),
    provider: record.provider,
    connectionId: record.connectionId,
    correlationId: record.correlationId,
  });
}
