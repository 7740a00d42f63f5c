/**
 * The durable state of a run so far: every version of every session and key, in order. The checkers of simulation/model/ share one, so that
 * a write is replayed once.
 */
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { DurableSessions, type SessionChange } from '../cluster/invariants/sessions.ts';
import type { Observation } from '../cluster/observation.ts';
import { worldBeganMs } from '../cluster/virtual-time.ts';

/** One version of a session, and the time for which it was the newest. */
export interface Version {
  readonly record: SessionRecord;
  readonly fromMs: number;
  untilMs: number;
}

export class History {
  readonly #sessions = new DurableSessions();
  readonly #versions = new Map<string, Version[]>();
  readonly #byCheckpoint = new Map<string, SessionRecord>();
  readonly #keys = new Map<string, KeyRecord>();
  readonly #keysMade = new Map<string, number>();
  readonly #closed = new Set<string>();
  /** The latest time that the coordinator's clock has shown, as an offset from virtual time. */
  #aheadMs = 0;
  /** The changes of the latest observation. */
  changes: readonly SessionChange[] = [];

  /** Call it with every observation before any checker that reads it. */
  take(observation: Observation): void {
    if (observation.kind === 'clock' && observation.process === 'coordinator') {
      this.#aheadMs = Math.max(this.#aheadMs, observation.offsetMs);
    }
    if (observation.kind !== 'written' || observation.process !== 'coordinator') {
      if (this.changes.length > 0) this.changes = [];
      return;
    }
    this.changes = this.#sessions.take(observation);
    const { write, outcome, atMs } = observation;
    if (outcome !== 'written') return;
    if (write.kind === 'closeKey') {
      this.#closed.add(`${write.tenant}/${write.keyId}`);
      return;
    }
    for (const { record, key } of this.changes) {
      const name = `${record.tenant}/${record.sessionId}`;
      const versions = this.#versions.get(name) ?? [];
      const last = versions.at(-1);
      if (last) last.untilMs = atMs;
      versions.push({ record, fromMs: atMs, untilMs: Number.POSITIVE_INFINITY });
      this.#versions.set(name, versions);
      this.#byCheckpoint.set(record.checkpointId, record);
      if (key) {
        const id = `${key.tenant}/${key.keyId}`;
        if (!this.#keys.has(id)) this.#keysMade.set(id, atMs);
        this.#keys.set(id, key);
      }
    }
    const { binds } = write;
    if (binds && this.changes.length > 0) this.#keys.set(`${binds.tenant}/${binds.keyId}`, binds);
  }

  /** Whether the lifetime of a session's state may be over: then it never signs, and the store no longer lists it as open. */
  isOverdue({ expiresMs }: SessionRecord, atMs: number): boolean {
    return expiresMs <= worldBeganMs + atMs + this.#aheadMs;
  }

  session(tenant: string, sessionId: string): SessionRecord | undefined {
    return this.#sessions.get(tenant, sessionId);
  }

  /** Oldest first. */
  versions(tenant: string, sessionId: string): readonly Version[] {
    return this.#versions.get(`${tenant}/${sessionId}`) ?? [];
  }

  /** All sessions, each with its versions. */
  all(): Iterable<readonly Version[]> {
    return this.#versions.values();
  }

  at(checkpointId: string): SessionRecord | undefined {
    return this.#byCheckpoint.get(checkpointId);
  }

  key(tenant: string, keyId: string): KeyRecord | undefined {
    return this.#keys.get(`${tenant}/${keyId}`);
  }

  /** The completion time of a key; Infinity: it is not complete. */
  keyMadeMs(tenant: string, keyId: string): number {
    return this.#keysMade.get(`${tenant}/${keyId}`) ?? Number.POSITIVE_INFINITY;
  }

  isClosed(tenant: string, keyId: string): boolean {
    return this.#closed.has(`${tenant}/${keyId}`);
  }
}

/** The ids of the nodes that hold a key, or are making it. */
export function holdersOf({
  participants,
  totalNodes,
}: {
  readonly participants?: readonly number[] | undefined;
  readonly totalNodes: number;
}): readonly number[] {
  return participants ?? Array.from({ length: totalNodes }, (_, index) => index + 1);
}
