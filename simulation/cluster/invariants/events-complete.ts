/**
 * A change and its event are one: every durable change of state has exactly one event in its tenant's log, in order, without
 * gaps, and so has every commit of a key's new shares; the log has no other events. Where a receiver exists, every terminal event
 * has reached it at the end.
 */

import type { LoggedEvent } from '../../../core/redis/event-log.ts';
import { ReceiptState, ReceiptStateSchema } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { DurableSessions, type SessionChange, stateName } from './sessions.ts';

const names: Readonly<Partial<Record<ReceiptState, string>>> = {
  [ReceiptState.ACCEPTED]: 'accepted',
  [ReceiptState.PENDING_HUMAN_APPROVAL]: 'pending',
  [ReceiptState.RESUMED]: 'resumed',
  [ReceiptState.BACKEND_COMPLETED]: 'completed',
  [ReceiptState.BACKEND_FAILED]: 'failed',
  [ReceiptState.DENIED]: 'denied',
  [ReceiptState.EXPIRED]: 'expired',
  [ReceiptState.REVOKED]: 'revoked',
};
const terminal = /\.(completed|denied|expired|revoked)$/;

/** @param delivers whether the run has a receiver that every event reaches in the end */
export function eventsComplete(delivers: boolean): Checker {
  const sessions = new DurableSessions();
  const sequences = new Map<string, number>();
  const seen = new Set<string>();
  /** Events of changes that the log has not shown yet, and events of the log whose change was not observed yet. */
  const unlogged = new Map<string, number>();
  const unexplained = new Map<string, number>();
  const undelivered = new Map<string, string>();

  function changed({ record, before, event, key }: SessionChange, atMs: number): string | undefined {
    const { sessionId, state } = record;
    if (state === before?.state) {
      const committed = key?.version;
      if (committed === undefined) return event && `a step of session ${sessionId} within a state has an event`;
      if (event?.type !== 'key.version.committed' || event.resource.version !== committed) {
        return `version ${committed} of ${key?.keyId} is committed, and no event says so`;
      }
      if (!unexplained.delete(event.id)) unlogged.set(event.id, atMs);
      return undefined;
    }
    if (!event) return `session ${sessionId} is ${stateName(state)}, and no event says so`;
    if (!unexplained.delete(event.id)) unlogged.set(event.id, atMs);
    const { session_id, epoch, state: told } = event.object as Readonly<Record<string, unknown>>;
    const agrees =
      event.type === `${record.ceremony.kind}.session.${names[state]}` &&
      event.resource.id === sessionId &&
      event.resource.version === record.epoch &&
      session_id === sessionId &&
      epoch === record.epoch &&
      told === ReceiptStateSchema.value[state]?.name;
    return agrees ? undefined : `the event ${event.type} does not give the outcome of session ${sessionId}`;
  }

  function logged(
    tenant: string,
    { id, type, resource }: LoggedEvent,
    sequence: number,
    atMs: number,
  ): string | undefined {
    const last = sequences.get(tenant) ?? 0;
    sequences.set(tenant, sequence);
    if (sequence !== last + 1) return `the log goes from sequence ${last} to ${sequence}`;
    if (seen.has(id)) return `the event ${type} of ${resource.id} is in the log twice`;
    seen.add(id);
    if (!unlogged.delete(id)) unexplained.set(id, atMs);
    if (terminal.test(type)) undelivered.set(id, `${type} of ${resource.id}`);
    return undefined;
  }

  /** A change and its event are observed one after the other, at the same time. */
  function leftOver(nowMs: number): string | undefined {
    for (const atMs of unlogged.values())
      if (atMs < nowMs) return 'a change of a session became durable without its event';
    for (const atMs of unexplained.values()) if (atMs < nowMs) return 'the log has an event that no change explains';
    return undefined;
  }

  return {
    invariant: 'events-complete',
    observe(observation: Observation) {
      const { atMs } = observation;
      if (unlogged.size > 0 || unexplained.size > 0) {
        const wrong = leftOver(atMs);
        if (wrong) return wrong;
      }
      if (observation.kind === 'logged')
        return logged(observation.tenant, observation.event, observation.sequence, atMs);
      if (observation.kind === 'delivered') {
        undelivered.delete(observation.eventId);
        return undefined;
      }
      for (const change of sessions.take(observation)) {
        const wrong = changed(change, atMs);
        if (wrong) return wrong;
      }
      return undefined;
    },
    finish() {
      const wrong = leftOver(Number.POSITIVE_INFINITY);
      if (wrong || !delivers || undelivered.size === 0) return wrong;
      return `${undelivered.size} terminal events never reached the receiver, first ${[...undelivered.values()][0]}`;
    },
  };
}
