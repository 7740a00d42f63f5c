/**
 * The Store ports in memory: the state that a process finds after a crash. The coordinator's store answers exactly as the scripts
 * of coordinator/store do: the rules of layout.ts apply to both, and one suite compares their answers.
 */

import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyRecordKey,
  openSessionsKey,
  readSessionPageKey,
  sessionKey,
} from '../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import { boundName, changeOf, endingOf, guardName, holdOf, openingOf } from '../../coordinator/store/layout.ts';
import type { Store, WriteOutcome } from '../../core/actors/contract.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { NodeRecord, NodeWrite } from '../../nodes/records/records.ts';
import type { SessionPageQuery } from '../../proto/session-list.ts';
import { copyOf } from './copy.ts';

/** The store is unreachable; the outcome of a write is then unknown. */
export class MemoryStoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/**
 * A store that acts at once; the simulated world decides when its answer arrives. Both throw StoreUnavailable when it is
 * unreachable.
 */
export interface SyncStore<W, R> {
  loadNow(key: string): R | undefined;
  writeNow(write: W): WriteOutcome<R>;
}

export function asStore<W, R>(store: SyncStore<W, R>): Store<W, R> {
  return {
    load: (key) => Promise.resolve(store.loadNow(key)),
    write: (write) => Promise.resolve(store.writeNow(write)),
  };
}

/** The fate of one write: `lost` before it took effect, or `unanswered` after it did. */
export type WriteFate = 'answered' | 'lost' | 'unanswered';

/** A store with a drawn fate for each write. */
export function unreliableStore<W, R>(store: SyncStore<W, R>, fate: (write: W) => WriteFate): SyncStore<W, R> {
  return {
    loadNow: (key) => store.loadNow(key),
    writeNow: (write) => {
      const drawn = fate(write);
      if (drawn === 'lost') throw new MemoryStoreUnavailable('the write was lost');
      const outcome = store.writeNow(write);
      if (drawn === 'unanswered') throw new MemoryStoreUnavailable('the answer was lost');
      return outcome;
    },
  };
}

export interface MemoryNodeStore extends SyncStore<NodeWrite, NodeRecord> {
  snapshot(): NodeSnapshot;
  /** Replaces its content; an empty map loses everything. */
  restore(snapshot: NodeSnapshot): void;
}

/** Its records by their keys, one character a byte: a text takes less memory than an array of bytes. */
export type NodeSnapshot = ReadonlyMap<string, string>;

export function memoryNodeStore(): MemoryNodeStore {
  let records = new Map<string, string>();
  return {
    snapshot: () => new Map(records),
    restore: (snapshot) => {
      records = new Map(snapshot);
    },
    loadNow: (key) => {
      const text = records.get(key);
      return text === undefined ? undefined : bytesOf(text);
    },
    writeNow: ({ puts, deletes }) => {
      for (const { key, record } of puts) {
        records.set(key, Buffer.from(record.buffer, record.byteOffset, record.length).toString('latin1'));
      }
      for (const key of deletes) records.delete(key);
      return { kind: 'written' };
    },
  };
}

function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  Buffer.from(bytes.buffer).write(text, 'latin1');
  return bytes;
}

/** `as` gets the `fence` and cluster of the writer: one store serves every start of every cluster's coordinator. */
export interface MemoryCoordinatorStore {
  /** The store as this cluster reads and writes it; 1 by default. */
  as(fence: number, cluster?: number): SyncStore<CoordinatorWrite, CoordinatorRecord>;
  /** The cluster of the session or key of this id; undefined: there is neither. */
  locate(tenant: string, id: string): number | undefined;
  /** The tenant's event log, oldest first: an event's sequence is its index, counted from 1. */
  events(tenant: string): readonly LoggedEvent[];
  /** Tenants that have a log, sorted. */
  tenants(): string[];
  /** The end of the next lifetime of an open session; Infinity: none is open. */
  nextEndMs(): number;
  /** All its content. */
  snapshot(): CoordinatorSnapshot;
  /** Replaces its content. Fences stay, so that a fenced coordinator stays fenced. */
  restore(snapshot: CoordinatorSnapshot): void;
}

export interface CoordinatorSnapshot {
  readonly records: ReadonlyMap<string, CoordinatorRecord>;
  readonly intents: ReadonlyMap<string, string>;
  readonly open: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly closed: ReadonlySet<string>;
  readonly events: ReadonlyMap<string, readonly LoggedEvent[]>;
  /** By the key of a record: its cluster, where that is not cluster 1. */
  readonly clusters: ReadonlyMap<string, number>;
}

export const emptyCoordinatorSnapshot: CoordinatorSnapshot = Object.freeze({
  records: new Map(),
  intents: new Map(),
  open: new Map(),
  closed: new Set<string>(),
  events: new Map(),
  clusters: new Map(),
});

/** `onEvent` gets every event as it becomes durable, and the cluster that wrote it. */
export function memoryCoordinatorStore(
  onEvent?: (tenant: string, event: LoggedEvent, sequence: number, cluster: number) => void,
): MemoryCoordinatorStore {
  let records = new Map<string, CoordinatorRecord>();
  let intents = new Map<string, string>();
  /** By tenant and cluster. */
  const fences = new Map<string, number>();
  /** By wallet key: its open sessions, with the end of their lifetime. */
  let open = new Map<string, Map<string, number>>();
  let closed = new Set<string>();
  let events = new Map<string, LoggedEvent[]>();
  let clusters = new Map<string, number>();
  /** Of the present write. */
  let writer = firstCluster;
  /** See `nextEndMs`; undefined: must be recomputed. */
  let nextEndMs: number | undefined;
  const keyOf = ({ tenant, ceremony }: SessionRecord) =>
    openSessionsKey(tenant, ceremony.kind === 'signing' ? ceremony.facts.keyId : '');
  const session = (tenant: string, id: string): SessionRecord | undefined => {
    const record = records.get(sessionKey(tenant, id));
    return record?.kind === 'session' ? record.session : undefined;
  };
  const clusterOf = (key: string) => clusters.get(key) ?? firstCluster;
  const record = (key: string, value: CoordinatorRecord) => {
    records.set(key, value);
    if (writer !== firstCluster) clusters.set(key, writer);
  };
  /** A record as the writer sees it: of another cluster's records only their existence. */
  const seen = (key: string, cluster = writer): CoordinatorRecord | undefined => {
    const found = records.get(key);
    if (found === undefined || clusterOf(key) === cluster) return copyOf(found);
    return { kind: 'elsewhere', sessionId: '' };
  };
  const put = (value: SessionRecord, event: LoggedEvent | undefined) => {
    nextEndMs = undefined;
    record(sessionKey(value.tenant, value.sessionId), { kind: 'session', session: copyOf(value) });
    if (!event) return;
    const log = events.get(value.tenant) ?? [];
    const logged = copyOf(event);
    log.push(logged);
    events.set(value.tenant, log);
    onEvent?.(value.tenant, logged, log.length, writer);
  };
  const conflict = (code: string, current?: SessionRecord): WriteOutcome<CoordinatorRecord> => ({
    kind: 'conflict',
    code,
    current: current && seen(sessionKey(current.tenant, current.sessionId)),
  });

  /** The refusal when the stored key is gone, or bound to another scheme. */
  function boundOtherwise(binds: KeyRecord | undefined): WriteOutcome<CoordinatorRecord> | undefined {
    if (!binds) return undefined;
    const stored = records.get(keyRecordKey(binds.tenant, binds.keyId));
    const standing = stored?.kind === 'key' ? boundName(stored.key) : undefined;
    if (standing === '' || standing === boundName(binds)) return undefined;
    return { kind: 'conflict', code: 'KEY_BOUND', current: seen(keyRecordKey(binds.tenant, binds.keyId)) };
  }

  function bind(binds: KeyRecord | undefined): void {
    if (binds) record(keyRecordKey(binds.tenant, binds.keyId), { kind: 'key', key: copyOf(binds) });
  }

  function create(write: Extract<CoordinatorWrite, { kind: 'create' }>): WriteOutcome<CoordinatorRecord> {
    const { session: next, guardIntent, nowMs, ends, binds } = write;
    const standing = session(next.tenant, next.sessionId);
    if (standing) {
      return standing.checkpointId === next.checkpointId ? { kind: 'written' } : conflict('SESSION_EXISTS', standing);
    }
    const opening = openingOf(next);
    const refused = opening === 'checked' && closed.has(keyOf(next));
    const bound = boundOtherwise(binds);
    if (guardIntent !== '') {
      const guard = `${next.tenant}/${guardName(next, guardIntent)}`;
      const other = session(next.tenant, intents.get(guard) ?? '');
      const hold = other && holdOf(other, nowMs);
      if (other && hold) {
        // Only its own cluster ends a session: until then it may still sign.
        if (clusterOf(sessionKey(other.tenant, other.sessionId)) !== writer) {
          const { sessionId } = other;
          return { kind: 'conflict', code: 'INTENT_ELSEWHERE', current: { kind: 'elsewhere', sessionId } };
        }
        if (hold === 'keeps') return conflict('INTENT_TAKEN', other);
        if (refused) return conflict('KEY_CLOSED');
        if (ends?.session.sessionId !== other.sessionId || ends.session.epoch !== other.epoch + 1) {
          return conflict('INTENT_HELD', other);
        }
        if (bound) return bound;
        put(ends.session, ends.event);
      }
      if (refused) return conflict('KEY_CLOSED');
      if (bound) return bound;
      intents.set(guard, next.sessionId);
    }
    if (refused) return conflict('KEY_CLOSED');
    if (bound) return bound;
    bind(binds);
    if (opening !== '') {
      const listed = [...(open.get(keyOf(next)) ?? [])].filter(([, expiresMs]) => expiresMs > nowMs);
      open.set(keyOf(next), new Map([...listed, [next.sessionId, next.expiresMs]]));
    }
    put(next, write.event);
    return { kind: 'written' };
  }

  function update(write: Extract<CoordinatorWrite, { kind: 'update' }>): WriteOutcome<CoordinatorRecord> {
    const { session: next, key, binds } = write;
    const standing = session(next.tenant, next.sessionId);
    if (standing?.checkpointId === next.checkpointId) return { kind: 'written' };
    if ((standing?.epoch ?? -1) !== next.epoch - 1) return conflict('EPOCH', standing);
    const change = changeOf(next);
    if ((change === 'goesOn' || change === 'completes') && closed.has(keyOf(next))) return conflict('KEY_CLOSED');
    const bound = boundOtherwise(binds);
    if (bound) return bound;
    bind(binds);
    if (change === 'goesOn') open.get(keyOf(next))?.set(next.sessionId, next.expiresMs);
    else if (change !== '') open.get(keyOf(next))?.delete(next.sessionId);
    if (key) record(keyRecordKey(key.tenant, key.keyId), { kind: 'key', key: copyOf(key) });
    put(next, write.event);
    return { kind: 'written' };
  }

  function overdue(nowMs: number, cluster: number): CoordinatorRecord {
    const sessions = [...records].flatMap(([key, record]) => {
      if (clusterOf(key) !== cluster) return [];
      if (record.kind !== 'session' || endingOf(record.session) === '' || record.session.expiresMs > nowMs) return [];
      return [{ tenant: record.session.tenant, sessionId: record.session.sessionId }];
    });
    return { kind: 'overdue', sessions };
  }

  function page(tenant: string, query: SessionPageQuery, cluster: number): CoordinatorRecord {
    const { kind, states, limit, after } = query;
    const isAfter = ({ createdMs, sessionId }: SessionRecord): boolean =>
      after === undefined || createdMs < after.atMs || (createdMs === after.atMs && sessionId < after.id);
    const found = [...records]
      .flatMap(([key, record]) => (record.kind === 'session' && clusterOf(key) === cluster ? [record.session] : []))
      .filter((found) => found.tenant === tenant)
      .filter((found) => (kind === '' || found.ceremony.kind === kind) && isAfter(found))
      .filter(({ state }) => states.length === 0 || states.includes(state))
      .sort((a, b) => b.createdMs - a.createdMs || (a.sessionId < b.sessionId ? 1 : -1));
    const sessions = found.slice(0, limit);
    const last = sessions.at(-1);
    const next = found.length > limit && last ? { atMs: last.createdMs, id: last.sessionId } : undefined;
    return { kind: 'page', sessions: sessions.map(copyOf), next };
  }

  function load(key: string, cluster: number): CoordinatorRecord | undefined {
    if (key.startsWith('overdue/')) return overdue(Number(key.slice('overdue/'.length)), cluster);
    const [, tenant, query] = /^page\/([^/]*)\/(.*)$/s.exec(key) ?? [];
    if (tenant !== undefined) return page(tenant, readSessionPageKey(query!), cluster);
    if (key.startsWith('open/')) return { kind: 'openSessions', sessionIds: [...(open.get(key)?.keys() ?? [])] };
    return seen(key, cluster);
  }

  return {
    events: (tenant) => events.get(tenant) ?? [],
    tenants: () => [...events.keys()].sort(),
    nextEndMs: () => {
      nextEndMs ??= [...records.values()].reduce((soonest, record) => {
        if (record.kind !== 'session' || endingOf(record.session) === '') return soonest;
        return Math.min(soonest, record.session.expiresMs);
      }, Number.POSITIVE_INFINITY);
      return nextEndMs;
    },
    // Records in the maps are replaced, never changed in place: copies of the maps are enough.
    snapshot: () => ({
      records: new Map(records),
      intents: new Map(intents),
      open: new Map([...open].map(([key, listed]) => [key, new Map(listed)])),
      closed: new Set(closed),
      events: new Map([...events].map(([tenant, log]) => [tenant, [...log]])),
      clusters: new Map(clusters),
    }),
    restore: (snapshot) => {
      nextEndMs = undefined;
      records = new Map(snapshot.records);
      intents = new Map(snapshot.intents);
      open = new Map([...snapshot.open].map(([key, listed]) => [key, new Map(listed)]));
      closed = new Set(snapshot.closed);
      events = new Map([...snapshot.events].map(([tenant, log]) => [tenant, [...log]]));
      clusters = new Map(snapshot.clusters);
    },
    locate: (tenant, id) => {
      const key = [sessionKey(tenant, id), keyRecordKey(tenant, id)].find((each) => records.has(each));
      return key === undefined ? undefined : clusterOf(key);
    },
    as: (fence, cluster = firstCluster) => ({
      loadNow: (key) => load(key, cluster),
      writeNow: (write) => {
        const { tenant } = write.kind === 'closeKey' ? write : write.session;
        const fenced = `${tenant}/${cluster}`;
        if ((fences.get(fenced) ?? 0) > fence) return conflict('FENCED');
        fences.set(fenced, fence);
        writer = cluster;
        if (write.kind === 'closeKey') {
          closed.add(openSessionsKey(tenant, write.keyId));
          return { kind: 'written' };
        }
        return write.kind === 'create' ? create(write) : update(write);
      },
    }),
  };
}
