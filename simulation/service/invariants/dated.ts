/**
 * Times: a resource is dated by the change that its event tells, in a run whose clocks agree. Sessions are listed as their newest
 * events tell them. docs/wallet-api.md, docs/signing-api.md.
 */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

/** Between the beginning of a change and its commit: a transfer is screened, a cluster makes a key. */
const withinMs = 5_000;
/** They tell of a resource without a change of it. */
const silent = new Set([
  ...['webhook.ping', 'webhook.deleted', 'risk.rule.deleted'],
  ...['wallet.deposit_received', 'wallet.deposit_reverted', 'wallet.deposit_finalized', 'wallet.allowance_used'],
  'wallet.balance_corrected',
]);

/** For runs without faults. Throws a Finding. */
export function checkTimesTold(events: readonly ToldEvent[]): void {
  for (const { sequence, type, timestamp, data } of events) {
    const atMs = Date.parse(timestamp);
    const { updated_at: updatedAt, status, status_history: history, id } = data.object ?? {};
    const about = `event ${sequence} ${type} of ${timestamp}`;
    if (updatedAt !== undefined && !silent.has(type) && !isBefore(Date.parse(updatedAt), atMs)) {
      found('events-complete', `${about} shows ${id} as of ${updatedAt}`);
    }
    const entered = history?.at(-1);
    if (entered !== undefined && type.endsWith(`.${status}`) && entered.status === status && entered.at !== updatedAt) {
      found('events-complete', `${about}: ${id} became ${status} at ${entered.at}, and is of ${updatedAt}`);
    }
  }
}

function isBefore(changedMs: number, toldMs: number): boolean {
  return changedMs <= toldMs && toldMs - changedMs <= withinMs;
}

interface ListedSession {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly reason_code: string;
  readonly epoch: number;
  readonly created_at: string;
  readonly changed_at: string;
  readonly expires_at: string;
}

/** Throws a Finding unless each listed session is as its newest event tells it. `isCalm`: with the time of that event. */
export function checkSessions(sessions: readonly ListedSession[], events: readonly ToldEvent[], isCalm: boolean): void {
  const newest = new Map<string, ToldEvent>();
  for (const event of events) if (/^(?:dkg|signing)\.session\./.test(event.type)) newest.set(event.resource.id, event);
  for (const session of sessions) {
    const event = newest.get(session.id);
    if (event === undefined) found('events-complete', `session ${session.id} is ${session.state} without an event`);
    const { timestamp, data } = event!;
    for (const name of ['kind', 'state', 'reason_code', 'epoch', 'created_at', 'expires_at'] as const) {
      const [shown, told] = [session[name], data.object[name]];
      if (told === undefined || shown === told) continue;
      found('events-complete', `session ${session.id} is listed with ${name} ${shown}, its newest event has ${told}`);
    }
    if (isCalm && session.changed_at !== timestamp)
      found(
        'events-complete',
        `session ${session.id} changed at ${session.changed_at}, its newest event is of ${timestamp}`,
      );
  }
}
