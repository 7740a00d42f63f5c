/** What Redis has of sessions and keys, as the coordinator's records: those that a coordinator of this cluster wrote. */
import type { Clock } from '../../core/actors/contract.ts';
import type { RecordMacs } from '../../core/crypto/record-macs.ts';
import { pendingLifetimeMs, retentionMs } from '../../proto/limits.ts';
import { type CoordinatorRecord, keyRecordKey, sessionKey } from '../contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../contract/record.ts';
import { readKey, readSession } from './layout.ts';

/** After its last change. */
export const sessionRetentionMs = retentionMs + pendingLifetimeMs;

type Fields = Readonly<Record<string, string>>;

export interface StoredRecordsOptions {
  /** The coordinator's clock: sessions are retained by it. */
  readonly clock: Clock;
  /** Reports a record under this store key that no coordinator of this cluster wrote. */
  readonly onTampered: (key: string) => void;
}

export class StoredRecords {
  readonly #macs: RecordMacs;
  readonly #cluster: number;
  readonly #options: StoredRecordsOptions;

  constructor(macs: RecordMacs, cluster: number, options: StoredRecordsOptions) {
    this.#macs = macs;
    this.#cluster = cluster;
    this.#options = options;
  }

  tampered(key: string): CoordinatorRecord {
    this.#options.onTampered(key);
    return { kind: 'tampered' };
  }

  /** The record of a key, by its store key. */
  key(key: string, text: string | null): CoordinatorRecord | undefined {
    const found = readKey(text, this.#macs, this.#cluster);
    return this.#asRecord(key, found, (record) => keyRecordKey(record.tenant, record.keyId) === key, keyOf);
  }

  session(tenant: string, sessionId: string, fields: Fields): CoordinatorRecord | undefined {
    return this.#session(sessionKey(tenant, sessionId), fields, (found) => {
      return found.tenant === tenant && found.sessionId === sessionId;
    });
  }

  /** The session that a write of `about` met: it belongs to the same tenant, and may be another one. */
  conflicting(about: SessionRecord | undefined, fields: Fields): CoordinatorRecord | undefined {
    const key = about ? sessionKey(about.tenant, about.sessionId) : '';
    return this.#session(key, fields, ({ tenant }) => tenant === about?.tenant);
  }

  /** The sessions of one page; one that no coordinator wrote is left out. */
  page(tenant: string, rows: readonly Fields[]): SessionRecord[] {
    return rows.flatMap((fields) => {
      const found = readSession(fields, this.#macs, this.#cluster);
      if (found === 'tampered') this.#options.onTampered(`page/${tenant}`);
      return typeof found === 'object' && found.tenant === tenant && this.#isRetained(found) ? [found] : [];
    });
  }

  #session(key: string, fields: Fields, isIt: (found: SessionRecord) => boolean): CoordinatorRecord | undefined {
    const found = readSession(fields, this.#macs, this.#cluster);
    return this.#asRecord(key, found, isIt, (session) =>
      this.#isRetained(session) ? { kind: 'session', session } : undefined,
    );
  }

  /** `isIt`: whether a record is the requested one, and no copy of another. */
  #asRecord<R extends object>(
    key: string,
    found: R | 'tampered' | 'elsewhere' | undefined,
    isIt: (found: R) => boolean,
    recordOf: (found: R) => CoordinatorRecord | undefined,
  ): CoordinatorRecord | undefined {
    if (found === undefined) return undefined;
    if (found === 'elsewhere') return { kind: 'elsewhere', sessionId: '' };
    return typeof found === 'string' || !isIt(found) ? this.tampered(key) : recordOf(found);
  }

  #isRetained({ checkpointMs }: SessionRecord): boolean {
    return this.#options.clock.nowMs() < checkpointMs + sessionRetentionMs;
  }
}

const keyOf = (key: KeyRecord): CoordinatorRecord => ({ kind: 'key', key });
