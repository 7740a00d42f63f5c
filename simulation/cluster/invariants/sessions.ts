/**
 * The store's sessions, replayed from the writes that took effect; several checkers use it. A write that is repeated after a lost
 * answer changes nothing, and is no change here either.
 */

import type { CoordinatorWrite } from '../../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord, SigningRecord } from '../../../coordinator/contract/record.ts';
import type { Address } from '../../../core/actors/contract.ts';
import type { LoggedEvent } from '../../../core/redis/event-log.ts';
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Observation } from '../observation.ts';

/** One durable change of one session. */
export interface SessionChange {
  readonly record: SessionRecord;
  /** The previous record; undefined: the session begins, or its past is unknown. */
  readonly before: SessionRecord | undefined;
  readonly begins: boolean;
  readonly event: LoggedEvent | undefined;
  readonly key: KeyRecord | undefined;
}

export type SigningSessionRecord = SessionRecord & { readonly ceremony: SigningRecord };

const none: readonly SessionChange[] = [];

export class DurableSessions {
  readonly #sessions = new Map<string, SessionRecord>();

  get(tenant: string, sessionId: string): SessionRecord | undefined {
    return this.#sessions.get(`${tenant}/${sessionId}`);
  }

  /** The changes of an observation, in the order in which they take effect. */
  take(observation: Observation): readonly SessionChange[] {
    if (observation.kind !== 'written' || observation.process !== 'coordinator') return none;
    if (observation.outcome !== 'written') return none;
    const { write } = observation;
    if (write.kind === 'closeKey') return none;
    const standing = this.get(write.session.tenant, write.session.sessionId);
    if (standing?.checkpointId === write.session.checkpointId) return none;
    const changes: SessionChange[] = [];
    const ends = endsOf(write);
    if (ends) changes.push(this.#put(ends.session, ends.event, false, undefined));
    const key = write.kind === 'update' ? write.key : undefined;
    changes.push(this.#put(write.session, write.event, write.kind === 'create', key));
    return changes;
  }

  #put(
    record: SessionRecord,
    event: LoggedEvent | undefined,
    begins: boolean,
    key: KeyRecord | undefined,
  ): SessionChange {
    const name = `${record.tenant}/${record.sessionId}`;
    const before = this.#sessions.get(name);
    this.#sessions.set(name, record);
    return { record, before, begins, event, key };
  }
}

function endsOf(write: CoordinatorWrite): { readonly session: SessionRecord; readonly event: LoggedEvent } | undefined {
  return write.kind === 'create' ? write.ends : undefined;
}

export function isSigning(record: SessionRecord): record is SigningSessionRecord {
  return record.ceremony.kind === 'signing';
}

export function stateName(state: ReceiptState): string {
  return ReceiptState[state] ?? String(state);
}

/** The id of the node that an address belongs to. */
export function nodeIn(address: Address): number {
  return Number(address.split('/')[1]);
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
