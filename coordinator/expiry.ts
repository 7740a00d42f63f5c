/**
 * The actor "expiry": expires overdue sessions that receive no calls, so that their events are written.
 *
 * At each scan it asks the store for overdue sessions and tells each to end; the session's own actor decides, and writes. The
 * store lists a session until its end is durable, so the next scan repeats a message that a crash or a full mailbox lost. The
 * store bounds the number of sessions a scan.
 */
import type { Behaviour, Context } from '../core/actors/contract.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  expiryAddress,
  isLocal,
  overdueKey,
  sessionAddress,
} from './contract/messages.ts';

/** The interval of scans. */
export const sweepEveryMs = 1_000;

export function expiryBehaviour(): Behaviour<null, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: expiryAddress,
    mailboxMax: 8,
    durableKey: () => undefined,
    start: () => ({ state: null, effects: [] }),
    receive: (_, input, context) => ({ state: null, effects: receive(input, context) }),
  };
}

function receive(input: CoordinatorInput, { nowMs }: Context): CoordinatorEffect[] {
  if (input.kind === 'message') {
    const asked = isLocal(input.message) && input.message.kind === 'sweep';
    return asked ? [{ kind: 'load', key: overdueKey(nowMs) }] : [];
  }
  if (input.kind !== 'loaded' || input.record?.kind !== 'overdue') return [];
  return input.record.sessions.map(({ tenant, sessionId }) => ({
    kind: 'send',
    to: sessionAddress(tenant, sessionId),
    message: { kind: 'expire' },
  }));
}
