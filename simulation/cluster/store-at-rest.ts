/**
 * The coordinator's store with sessions and keys as they lie in Redis: separate fields, JSON and a MAC. A trial may alter a field at
 * rest. The decisions about writes are those of the store in memory.
 */

import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyKey,
  sessionKey,
} from '../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { keyText, readKey, readSession, storeMacs, writeArguments } from '../../coordinator/store/public.ts';
import type { WriteOutcome } from '../../core/actors/contract.ts';
import type { RecordMacs } from '../../core/crypto/record-macs.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { emptyCoordinatorSnapshot, memoryCoordinatorStore } from './memory-stores.ts';

/** The fields that Redis stores of a session. */
const stored = [
  'epoch',
  'state',
  'reasonCode',
  'message',
  'checkpointId',
  'checkpointMs',
  'expiresMs',
  'data',
  'cluster',
  'mac',
] as const;
export type StoredSession = Readonly<Record<string, string>>;

export class StoreAtRest {
  readonly #macs: RecordMacs;
  readonly #memory = memoryCoordinatorStore();
  /** By their names in the Store port (`sessionKey`): what was written last. */
  readonly #written: Map<string, SessionRecord>;
  /** The same as it lies in Redis, once it was read; or as a trial altered it. */
  readonly #sessions: Map<string, StoredSession>;
  /** By `keyKey`. */
  readonly #keys: Map<string, string>;

  constructor(macs: RecordMacs, from?: StoreAtRest) {
    this.#macs = macs;
    this.#written = new Map(from === undefined ? [] : from.#written);
    this.#sessions = new Map(from === undefined ? [] : from.#sessions);
    this.#keys = new Map(from === undefined ? [] : from.#keys);
    this.#memory.restore(from === undefined ? emptyCoordinatorSnapshot : from.#memory.snapshot());
  }

  static of(resumeKey: Uint8Array, clusterId: string): StoreAtRest {
    return new StoreAtRest(storeMacs(resumeKey, clusterId));
  }

  /** The session that was written last, whatever was altered since. */
  written(name: string): SessionRecord | undefined {
    return this.#written.get(name);
  }

  /** The fields of a session in Redis. */
  stored(name: string): StoredSession | undefined {
    const known = this.#sessions.get(name);
    const session = this.#written.get(name);
    if (known !== undefined || session === undefined) return known;
    const fields = this.#fieldsOf(session);
    this.#sessions.set(name, fields);
    return fields;
  }

  /** A key in Redis. */
  storedKey(name: string): string | undefined {
    return this.#keys.get(name);
  }

  fork(): StoreAtRest {
    return new StoreAtRest(this.#macs, this);
  }

  /** Replaces what Redis holds under this name. */
  alter(name: string, record: StoredSession | string): void {
    if (typeof record === 'string') this.#keys.set(name, record);
    else this.#sessions.set(name, record);
  }

  load(name: string): CoordinatorRecord | undefined {
    if (name.startsWith('session/')) return this.#session(name);
    if (name.startsWith('key/')) {
      const key = readKey(this.#keys.get(name) ?? null, this.#macs, firstCluster);
      return typeof key === 'object' ? { kind: 'key', key } : strange(key);
    }
    return this.#memory.as(0).loadNow(name);
  }

  /** `fence`: of the coordinator that writes. */
  write(write: CoordinatorWrite, fence: number): WriteOutcome<CoordinatorRecord> {
    const outcome = this.#memory.as(fence).writeNow(write);
    if (outcome.kind === 'conflict') {
      const name = nameOf(outcome.current);
      return name === undefined ? outcome : { ...outcome, current: this.load(name) };
    }
    if (write.kind !== 'closeKey') this.#store(write);
    return outcome;
  }

  #session(name: string): CoordinatorRecord | undefined {
    const found = readSession(this.stored(name) ?? {}, this.#macs, firstCluster);
    return typeof found === 'object' ? { kind: 'session', session: found } : strange(found);
  }

  #store(write: Exclude<CoordinatorWrite, { kind: 'closeKey' }>): void {
    const { session } = write;
    const name = sessionKey(session.tenant, session.sessionId);
    this.#written.set(name, session);
    this.#sessions.delete(name);
    for (const key of [write.kind === 'update' ? write.key : undefined, write.binds]) if (key) this.#putKey(key);
  }

  #fieldsOf(session: SessionRecord): StoredSession {
    const none = { event: undefined, guardIntent: '', change: '', key: undefined, binds: false } as const;
    const facts = { ...none, kind: 'update', nowMs: 0, counted: false } as const;
    const given = writeArguments(session, facts, this.#macs, firstCluster);
    return Object.fromEntries(stored.map((name) => [name, String(given[name])]));
  }

  #putKey(key: KeyRecord): void {
    this.#keys.set(keyKey(key.tenant, key.keyId), keyText(key, this.#macs, firstCluster));
  }
}

function strange(found: 'tampered' | 'elsewhere' | undefined): CoordinatorRecord | undefined {
  return found === 'elsewhere' ? { kind: 'elsewhere', sessionId: '' } : found && { kind: found };
}

function nameOf(record: CoordinatorRecord | undefined): string | undefined {
  if (record?.kind === 'session') return sessionKey(record.session.tenant, record.session.sessionId);
  return record?.kind === 'key' ? keyKey(record.key.tenant, record.key.keyId) : undefined;
}
