/**
 * The coordinator's Store port over a client of any Redis: the one of a live coordinator (redis-store.ts), or the one in
 * memory of a simulated world. Durable means: the script ran and Redis answered (with the append-only file on, that
 * survives the death of any process).
 *
 * Keys of finished DKGs change when a session binds them, only through this store, so it caches them.
 */
import type { Redis } from 'ioredis';
import type { Clock, Store, WriteOutcome } from '../../core/actors/contract.ts';
import { firstCluster, ofCluster } from '../../core/redis/clusters.ts';
import type { DueKind } from '../../core/redis/due-work.ts';
import { tenantPrefix } from '../../core/redis/event-log.ts';
import { luaCommand } from '../../core/redis/lua.ts';
import { RedisDueWork } from '../../core/redis/redis-due-work.ts';
import { isWrongType } from '../../core/redis/wrong-type.ts';
import { pendingLifetimeMs, retentionMs } from '../../proto/limits.ts';
import type { SessionPageQuery } from '../../proto/session-list.ts';
import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyRecordKey,
  readSessionPageKey,
  type SessionName,
  sessionKey,
} from '../contract/messages.ts';
import type { KeyRecord, SessionRecord } from '../contract/record.ts';
import { WriteBatches } from './batches.ts';
import {
  changeOf,
  endingOf,
  openingOf,
  readKey,
  readSession,
  redisKeys,
  type SessionWriteArguments,
  storeMacs,
  writeArguments,
} from './layout.ts';
import { closeKey, listSessions, overdueSessions, type WriteReply, writeSessions } from './scripts.ts';

const keyCacheMax = 10_000;
/** After its last change. */
const sessionRetentionMs = retentionMs + pendingLifetimeMs;
/** The most overdue sessions of one scan, over all tenants; each tenant gets its share. */
const overdueMax = 512;
/** Sessions that one page scans; with a rare filter the page may then be short. */
const listScanMax = 1_000;

type SessionWrite = Exclude<CoordinatorWrite, { kind: 'closeKey' }>;
type Create = SessionWrite & { kind: 'create' };

export interface SessionStoreOptions {
  readonly clusterId: string;
  /** The cluster's number among those that share this Redis; 1 by default. */
  readonly cluster?: number;
  /** The coordinator's clock: sessions are retained by it. */
  readonly clock: Clock;
  /** Secret, 32 bytes: the source of the MAC key, so that every start of the coordinator has the same. */
  readonly resumeKey: Uint8Array;
  /** Reports a record under this store key that no coordinator of this cluster wrote. */
  readonly onTampered: (key: string) => void;
  /** One tenant's quota in bytes, beyond which clients' new sessions are refused; undefined: no limit. */
  readonly tenantBytesMax?: number | undefined;
  /** Reads a steady clock; the machine’s by default. */
  readonly elapsedMs?: () => number;
  /** Calls back at the end of this tick of the event loop, to batch its writes. By default at once, without batches. */
  readonly soon?: (flush: () => void) => void;
  /** A newer coordinator of this cluster has written: this one must stop. */
  readonly onFenced: () => void;
}

/** `fence`: of this start, higher than in every earlier one. */
export function sessionStore(
  redis: Redis,
  fence: number,
  options: SessionStoreOptions,
): Store<CoordinatorWrite, CoordinatorRecord> {
  const scripts = {
    writeSessions: luaCommand(redis, writeSessions),
    closeKey: luaCommand(redis, closeKey),
    overdueSessions: luaCommand(redis, overdueSessions),
    listSessions: luaCommand(redis, listSessions),
  };
  const { cluster = firstCluster } = options;
  const expiring = new RedisDueWork(redis, ofCluster('sessions', cluster) as DueKind, options);
  const relaying = new RedisDueWork(redis, 'webhooks', options);
  const macs = storeMacs(options.resumeKey, options.clusterId);
  const keys = new Map<string, CoordinatorRecord>();
  const bytesMax = options.tenantBytesMax ?? '';
  const batches = new WriteBatches(options.soon, (tenant, writes) =>
    scripts.writeSessions(
      {
        fenceKey: redisKeys.fence(tenant, cluster),
        endingKey: redisKeys.ending(tenant, cluster),
        listKey: redisKeys.list(tenant, cluster),
      },
      { fence, retentionMs: sessionRetentionMs, prefix: tenantPrefix(tenant), bytesMax, writes },
    ),
  );
  return { load, write };

  async function load(key: string): Promise<CoordinatorRecord | undefined> {
    try {
      return await stored(key);
    } catch (error) {
      if (isWrongType(error)) return tampered(key);
      throw error;
    }
  }

  async function stored(key: string): Promise<CoordinatorRecord | undefined> {
    const [kind, tenant, ...id] = key.split('/') as [string, string, ...string[]];
    if (kind === 'session') {
      const sessionId = id.join('/');
      const record = readSession(await redis.hgetall(redisKeys.session(tenant, sessionId)), macs, cluster);
      return sessionRecord(key, record, (found) => found.tenant === tenant && found.sessionId === sessionId);
    }
    if (kind === 'overdue') return { kind: 'overdue', sessions: await overdue(Number(tenant)) };
    if (kind === 'page') return page(tenant, readSessionPageKey(id.join('/')));
    if (kind === 'open') {
      const sessionIds = await redis.zrange(redisKeys.open(tenant, id.join('/')), '0', '-1');
      return { kind: 'openSessions', sessionIds };
    }
    const cached = keys.get(key);
    if (cached) return cached;
    const record = keyRecord(key, await redis.get(redisKeys.key(tenant, id.join('/'))));
    if (record?.kind === 'key') cache(key, record);
    return record;
  }

  async function page(tenant: string, query: SessionPageQuery): Promise<CoordinatorRecord> {
    const { kind, states, limit, after } = query;
    const [rows, nextMs, nextId] = await scripts.listSessions(
      { listKey: redisKeys.list(tenant, cluster) },
      {
        ...{ prefix: tenantPrefix(tenant), kind, limit, scanMax: listScanMax },
        states: states.length === 0 ? '' : `,${states.join(',')},`,
        ...{ afterMs: after?.atMs ?? '+inf', afterId: after?.id ?? '' },
      },
    );
    const sessions = rows.flatMap((row): SessionRecord[] => {
      const found = readSession(pairsOf(row), macs, cluster);
      if (found === 'tampered') options.onTampered(`page/${tenant}`);
      return typeof found === 'object' && found.tenant === tenant && isRetained(found) ? [found] : [];
    });
    return { kind: 'page', sessions, next: nextId === '' ? undefined : { atMs: Number(nextMs), id: nextId } };
  }

  /** Some of the sessions past their lifetime; those that stay overdue are named again, after others. */
  async function overdue(nowMs: number): Promise<readonly SessionName[]> {
    const found: SessionName[] = [];
    await expiring.sweep(nowMs, async (tenant, claimed) => {
      const about = { prefix: tenantPrefix(tenant), nowMs, limit: Math.ceil(overdueMax / claimed) };
      const [ids, next] = await scripts.overdueSessions({ endingKey: redisKeys.ending(tenant, cluster) }, about);
      for (const sessionId of ids) found.push({ tenant, sessionId });
      if (ids.length > 0) return nowMs;
      return next === '' ? undefined : Number(next);
    });
    return found;
  }

  /** Registers what the write makes due: the session's end, and its event for webhooks. */
  function registered<T>({ session, event }: SessionWrite, write: () => Promise<T>): Promise<T> {
    if (!event) return write();
    const ends = endingOf(session);
    const { tenant } = session;
    return relaying.registered(tenant, event.atMs, () =>
      ends === '' ? write() : expiring.registered(tenant, ends, write),
    );
  }

  function cache(key: string, record: CoordinatorRecord): void {
    if (keys.size >= keyCacheMax) keys.delete(keys.keys().next().value!);
    keys.set(key, record);
  }

  /** Caches the key's stored record from the reply to a write that binds it. */
  function learn(
    binds: KeyRecord | undefined,
    result: WriteOutcome<CoordinatorRecord>,
  ): WriteOutcome<CoordinatorRecord> {
    if (!binds) return result;
    const key = keyRecordKey(binds.tenant, binds.keyId);
    if (result.kind === 'written') cache(key, { kind: 'key', key: binds });
    else if (result.code === 'KEY_BOUND' && result.current?.kind === 'key') cache(key, result.current);
    return result;
  }

  function tampered(key: string): CoordinatorRecord {
    options.onTampered(key);
    return { kind: 'tampered' };
  }

  /** The stored record of a key, by its store key. */
  function keyRecord(key: string, text: string | null): CoordinatorRecord | undefined {
    const found = readKey(text, macs, cluster);
    if (found === undefined) return undefined;
    if (found === 'elsewhere') return { kind: 'elsewhere', sessionId: '' };
    return found === 'tampered' || keyRecordKey(found.tenant, found.keyId) !== key
      ? tampered(key)
      : { kind: 'key', key: found };
  }

  /** `isIt`: whether a record is the requested one, and no copy of another. */
  function sessionRecord(
    key: string,
    found: ReturnType<typeof readSession>,
    isIt: (found: SessionRecord) => boolean,
  ): CoordinatorRecord | undefined {
    if (found === undefined) return undefined;
    if (found === 'elsewhere') return { kind: 'elsewhere', sessionId: '' };
    if (found === 'tampered' || !isIt(found)) return tampered(key);
    return isRetained(found) ? { kind: 'session', session: found } : undefined;
  }

  function isRetained({ checkpointMs }: SessionRecord): boolean {
    return options.clock.nowMs() < checkpointMs + sessionRetentionMs;
  }

  async function write(write: CoordinatorWrite): Promise<WriteOutcome<CoordinatorRecord>> {
    if (write.kind === 'closeKey') {
      const { tenant, keyId } = write;
      const keys = { fenceKey: redisKeys.fence(tenant, cluster), closedKey: redisKeys.closed(tenant, keyId) };
      return settled(tenant, await scripts.closeKey(keys, { fence }));
    }
    try {
      return await registered(write, () => (write.kind === 'create' ? create(write) : update(write)));
    } catch (error) {
      if (!isWrongType(error)) throw error;
      const { tenant, sessionId } = write.session;
      return { kind: 'conflict', code: 'WRONG_TYPE', current: tampered(sessionKey(tenant, sessionId)) };
    }
  }

  async function create(write: Create): Promise<WriteOutcome<CoordinatorRecord>> {
    const { session, event, guardIntent, nowMs, ends, binds, counted = false } = write;
    const own = { nowMs, counted, change: openingOf(session), key: binds, binds: binds !== undefined };
    const made = writeArguments(session, { kind: 'create', event, guardIntent, ...own }, macs, cluster);
    const { tenant } = session;
    const reply = await (ends ? batches.write(tenant, held(ends, nowMs), made) : batches.write(tenant, made));
    return learn(binds, await settled(tenant, reply, session, binds));
  }

  /** The end of the session that another one replaces as holder of the intent. */
  function held({ session, event }: NonNullable<Create['ends']>, nowMs: number): SessionWriteArguments {
    const none = { guardIntent: '', change: '', counted: false, key: undefined, binds: false } as const;
    return writeArguments(session, { kind: 'held', event, nowMs, ...none }, macs, cluster);
  }

  async function update(write: SessionWrite & { kind: 'update' }): Promise<WriteOutcome<CoordinatorRecord>> {
    const { session, event, binds, key = binds } = write;
    const { ceremony } = session;
    const guardIntent = ceremony.kind === 'signing' ? ceremony.facts.intentId : '';
    const own = { nowMs: 0, counted: false, change: changeOf(session), key, binds: binds !== undefined };
    const made = writeArguments(session, { kind: 'update', event, guardIntent, ...own }, macs, cluster);
    const { tenant } = session;
    return learn(binds, await settled(tenant, await batches.write(tenant, made), session, binds));
  }

  async function settled(
    tenant: string,
    reply: WriteReply,
    about?: SessionRecord,
    binds?: KeyRecord,
  ): Promise<WriteOutcome<CoordinatorRecord>> {
    const [code, fields = []] = reply;
    if (code === 'FENCED') return fenced(tenant);
    if (code !== 'TAMPERED') return outcome(reply, about, binds);
    return { kind: 'conflict', code, current: tampered(`${pairsOf(fields).key}/${tenant}`) };
  }

  /**
   * The tenant's fence is higher than this start's. Every start takes its number from the counter before it writes, so while the
   * counter holds this start's number there is no newer coordinator, and something else changed the fence of this one tenant:
   * its writes are refused, and the others' go on. The script refuses in either case, so this decides only whether to stop.
   */
  async function fenced(tenant: string): Promise<WriteOutcome<CoordinatorRecord>> {
    const counter = await redis.get(redisKeys.fenceCounter(options.clusterId));
    if (counter === String(fence)) return { kind: 'conflict', code: 'FENCED', current: tampered(`fence/${tenant}`) };
    options.onFenced();
    return { kind: 'conflict', code: 'FENCED', current: undefined };
  }

  /** `about`: the session of the write; a conflicting record belongs to the same tenant, if not the same session. */
  function outcome(
    [code, fields]: WriteReply,
    about?: SessionRecord,
    binds?: KeyRecord,
  ): WriteOutcome<CoordinatorRecord> {
    if (code === 'OK') return { kind: 'written' };
    if (code === 'KEY_BOUND' && binds) {
      return {
        kind: 'conflict',
        code,
        current: keyRecord(keyRecordKey(binds.tenant, binds.keyId), fields?.[0] ?? null),
      };
    }
    if (code === 'INTENT_ELSEWHERE') {
      return {
        kind: 'conflict',
        code,
        current: { kind: 'elsewhere', sessionId: pairsOf(fields ?? []).sessionId ?? '' },
      };
    }
    const found = readSession(pairsOf(fields ?? []), macs, cluster);
    const key = about ? sessionKey(about.tenant, about.sessionId) : '';
    return { kind: 'conflict', code, current: sessionRecord(key, found, ({ tenant }) => tenant === about?.tenant) };
  }
}

function pairsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index]!] = flat[index + 1]!;
  return fields;
}
