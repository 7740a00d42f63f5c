/**
 * The coordinator's Store port over a client of any Redis: the one of a live coordinator (redis-store.ts), or the one in
 * memory of a simulated world. Durable means: the script ran and Redis answered (with the append-only file on, that
 * survives the death of any process).
 */
import type { Redis } from 'ioredis';
import type { Store, WriteOutcome } from '../../core/actors/contract.ts';
import type { RecordMacs } from '../../core/crypto/record-macs.ts';
import { firstCluster, ofCluster } from '../../core/redis/clusters.ts';
import type { DueKind } from '../../core/redis/due-work.ts';
import { tenantPrefix } from '../../core/redis/event-log.ts';
import { luaCommand } from '../../core/redis/lua.ts';
import { RedisDueWork } from '../../core/redis/redis-due-work.ts';
import { isWrongType } from '../../core/redis/wrong-type.ts';
import type { SessionPageQuery } from '../../proto/session-list.ts';
import {
  type ConflictCode,
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
  redisKeys,
  type SessionWriteArguments,
  storeMacs,
  type WriteFacts,
  writeArguments,
} from './layout.ts';
import { closeKey, listSessions, overdueSessions, type WriteReply, writeSessions } from './scripts.ts';
import { StoredRecords, type StoredRecordsOptions, sessionRetentionMs } from './stored-records.ts';

const keyCacheMax = 10_000;
/** The most overdue sessions of one scan, over all tenants; each tenant gets its share. */
const overdueMax = 512;
/** Sessions that one page scans; with a rare filter the page may then be short. */
const listScanMax = 1_000;

type SessionWrite = Exclude<CoordinatorWrite, { kind: 'closeKey' }>;
type Create = SessionWrite & { kind: 'create' };

export interface SessionStoreOptions extends StoredRecordsOptions {
  readonly clusterId: string;
  /** The cluster's number among those that share this Redis; 1 by default. */
  readonly cluster?: number;
  /** Secret, 32 bytes: the source of the MAC key, so that every start of the coordinator has the same. */
  readonly resumeKey: Uint8Array;
  /** One tenant's quota in bytes, beyond which clients' new sessions are refused; undefined: no limit. */
  readonly tenantBytesMax?: number | undefined;
  /** Reads a steady clock; the machine’s by default. */
  readonly elapsedMs?: () => number;
  /** Calls back at the end of this tick of the event loop, to batch its writes. By default at once, without batches. */
  readonly soon?: (flush: () => void) => void;
  /** A newer coordinator of this cluster has written: this one must stop. */
  readonly onFenced: () => void;
}

/** Keys of finished DKGs: they change only when a session binds or refreshes them, through this store. */
class KeyCache {
  readonly #keys = new Map<string, CoordinatorRecord>();

  get(key: string): CoordinatorRecord | undefined {
    return this.#keys.get(key);
  }

  add(key: string, record: CoordinatorRecord | undefined): void {
    if (record?.kind !== 'key') return;
    if (this.#keys.size >= keyCacheMax) this.#keys.delete(this.#keys.keys().next().value!);
    this.#keys.set(key, record);
  }

  drop(key: string): void {
    this.#keys.delete(key);
  }
}

export class SessionStore implements Store<CoordinatorWrite, CoordinatorRecord> {
  readonly #redis: Redis;
  readonly #fence: number;
  readonly #options: SessionStoreOptions;
  readonly #cluster: number;
  readonly #macs: RecordMacs;
  readonly #records: StoredRecords;
  readonly #keys = new KeyCache();
  readonly #expiring: RedisDueWork;
  readonly #relaying: RedisDueWork;
  readonly #batches: WriteBatches;
  readonly #scripts;

  /** `fence`: of this start, higher than in every earlier one. */
  constructor(redis: Redis, fence: number, options: SessionStoreOptions) {
    const { cluster = firstCluster, tenantBytesMax: bytesMax = '' } = options;
    this.#redis = redis;
    this.#fence = fence;
    this.#options = options;
    this.#cluster = cluster;
    this.#macs = storeMacs(options.resumeKey, options.clusterId);
    this.#records = new StoredRecords(this.#macs, cluster, options);
    this.#expiring = new RedisDueWork(redis, ofCluster('sessions', cluster) as DueKind, options);
    this.#relaying = new RedisDueWork(redis, 'webhooks', options);
    this.#scripts = {
      writeSessions: luaCommand(redis, writeSessions),
      closeKey: luaCommand(redis, closeKey),
      overdueSessions: luaCommand(redis, overdueSessions),
      listSessions: luaCommand(redis, listSessions),
    };
    this.#batches = new WriteBatches(options.soon, (tenant, writes) =>
      this.#scripts.writeSessions(
        {
          fenceKey: redisKeys.fence(tenant, cluster),
          endingKey: redisKeys.ending(tenant, cluster),
          listKey: redisKeys.list(tenant, cluster),
        },
        { fence, retentionMs: sessionRetentionMs, prefix: tenantPrefix(tenant), bytesMax, writes },
      ),
    );
  }

  // --- reads -----------------------------------------------------------------------------------------------------------

  async load(key: string): Promise<CoordinatorRecord | undefined> {
    const [kind, tenant, ...rest] = key.split('/') as [string, string, ...string[]];
    const id = rest.join('/');
    try {
      if (kind === 'session') {
        return this.#records.session(tenant, id, await this.#redis.hgetall(redisKeys.session(tenant, id)));
      }
      if (kind === 'overdue') return { kind: 'overdue', sessions: await this.#overdue(Number(tenant)) };
      if (kind === 'page') return await this.#page(tenant, readSessionPageKey(id));
      if (kind === 'open') {
        return { kind: 'openSessions', sessionIds: await this.#redis.zrange(redisKeys.open(tenant, id), '0', '-1') };
      }
      return this.#keys.get(key) ?? (await this.#key(key, tenant, id));
    } catch (error) {
      if (isWrongType(error)) return this.#records.tampered(key);
      throw error;
    }
  }

  async #key(key: string, tenant: string, keyId: string): Promise<CoordinatorRecord | undefined> {
    const record = this.#records.key(key, await this.#redis.get(redisKeys.key(tenant, keyId)));
    this.#keys.add(key, record);
    return record;
  }

  async #page(tenant: string, { kind, states, limit, after }: SessionPageQuery): Promise<CoordinatorRecord> {
    const [rows, nextMs, nextId] = await this.#scripts.listSessions(
      { listKey: redisKeys.list(tenant, this.#cluster) },
      {
        ...{ prefix: tenantPrefix(tenant), kind, limit, scanMax: listScanMax },
        states: states.length === 0 ? '' : `,${states.join(',')},`,
        ...{ afterMs: after?.atMs ?? '+inf', afterId: after?.id ?? '' },
      },
    );
    const next = nextId === '' ? undefined : { atMs: Number(nextMs), id: nextId };
    return { kind: 'page', sessions: this.#records.page(tenant, rows.map(pairsOf)), next };
  }

  /** Some of the sessions past their lifetime; those that stay overdue are named again, after others. */
  async #overdue(nowMs: number): Promise<readonly SessionName[]> {
    const found: SessionName[] = [];
    await this.#expiring.sweep(nowMs, async (tenant, claimed) => {
      const about = { prefix: tenantPrefix(tenant), nowMs, limit: Math.ceil(overdueMax / claimed) };
      const endingKey = redisKeys.ending(tenant, this.#cluster);
      const [ids, next] = await this.#scripts.overdueSessions({ endingKey }, about);
      for (const sessionId of ids) found.push({ tenant, sessionId });
      if (ids.length > 0) return nowMs;
      return next === '' ? undefined : Number(next);
    });
    return found;
  }

  // --- writes ----------------------------------------------------------------------------------------------------------

  async write(write: CoordinatorWrite): Promise<WriteOutcome<CoordinatorRecord>> {
    if (write.kind === 'closeKey') {
      const { tenant, keyId } = write;
      const keys = { fenceKey: redisKeys.fence(tenant, this.#cluster), closedKey: redisKeys.closed(tenant, keyId) };
      return this.#outcome(await this.#scripts.closeKey(keys, { fence: this.#fence }), tenant);
    }
    const { session, binds } = write;
    const { tenant, sessionId } = session;
    const key = write.kind === 'update' ? write.key : undefined;
    try {
      const reply = await this.#registered(write, () => this.#batches.write(tenant, ...this.#changesOf(write)));
      const result = await this.#outcome(reply, tenant, session, binds);
      const stored = key ?? binds;
      if (stored) this.#learn(stored, result);
      return result;
    } catch (error) {
      if (key) this.#keys.drop(keyRecordKey(tenant, key.keyId));
      if (!isWrongType(error)) throw error;
      return { kind: 'conflict', code: 'WRONG_TYPE', current: this.#records.tampered(sessionKey(tenant, sessionId)) };
    }
  }

  /** The changes of one write, for the script. */
  #changesOf(write: SessionWrite): SessionWriteArguments[] {
    const { session, event, binds } = write;
    const made = (facts: Pick<WriteFacts, 'kind' | 'guardIntent' | 'change' | 'nowMs' | 'counted' | 'key'>) =>
      writeArguments(session, { ...facts, event, binds: binds !== undefined }, this.#macs, this.#cluster);
    if (write.kind === 'create') {
      const { guardIntent, nowMs, ends, counted = false } = write;
      const change = openingOf(session);
      const created = made({ kind: 'create', guardIntent, change, nowMs, counted, key: binds });
      return ends ? [this.#held(ends, nowMs), created] : [created];
    }
    const { ceremony } = session;
    const guardIntent = ceremony.kind === 'signing' ? ceremony.facts.intentId : '';
    const { key = binds } = write;
    return [made({ kind: 'update', guardIntent, change: changeOf(session), nowMs: 0, counted: false, key })];
  }

  /** The end of the session that another one replaces as holder of the intent. */
  #held({ session, event }: NonNullable<Create['ends']>, nowMs: number): SessionWriteArguments {
    const none = { guardIntent: '', change: '', counted: false, key: undefined, binds: false } as const;
    return writeArguments(session, { kind: 'held', event, nowMs, ...none }, this.#macs, this.#cluster);
  }

  /** Registers what the write makes due: the session's end, and its event for webhooks. */
  #registered<T>({ session, event }: SessionWrite, write: () => Promise<T>): Promise<T> {
    if (!event) return write();
    const ends = endingOf(session);
    const { tenant } = session;
    return this.#relaying.registered(tenant, event.atMs, () =>
      ends === '' ? write() : this.#expiring.registered(tenant, ends, write),
    );
  }

  /** Caches the key's stored record from the reply to a write of it. */
  #learn(stored: KeyRecord, result: WriteOutcome<CoordinatorRecord>): void {
    const key = keyRecordKey(stored.tenant, stored.keyId);
    if (result.kind === 'written') this.#keys.add(key, { kind: 'key', key: stored });
    else if (result.code === 'KEY_BOUND') this.#keys.add(key, result.current);
  }

  async #outcome(
    [code, fields = []]: WriteReply,
    tenant: string,
    about?: SessionRecord,
    binds?: KeyRecord,
  ): Promise<WriteOutcome<CoordinatorRecord>> {
    if (code === 'OK') return { kind: 'written' };
    if (code === 'FENCED') return this.#fenced(tenant);
    return { kind: 'conflict', code, current: this.#current(code, fields, tenant, about, binds) };
  }

  /** The record that conflicts with a write. `about`: the session of the write. */
  #current(
    code: ConflictCode,
    fields: readonly string[],
    tenant: string,
    about?: SessionRecord,
    binds?: KeyRecord,
  ): CoordinatorRecord | undefined {
    if (code === 'KEY_BOUND' && binds) {
      return this.#records.key(keyRecordKey(binds.tenant, binds.keyId), fields[0] ?? null);
    }
    const found = pairsOf(fields);
    if (code === 'TAMPERED') return this.#records.tampered(`${found.key}/${tenant}`);
    if (code === 'INTENT_ELSEWHERE') return { kind: 'elsewhere', sessionId: found.sessionId ?? '' };
    return this.#records.conflicting(about, found);
  }

  /**
   * The tenant's fence is higher than this start's. Every start takes its number from the counter before it writes, so while the
   * counter holds this start's number there is no newer coordinator, and something else changed the fence of this one tenant:
   * its writes are refused, and the others' go on. The script refuses in either case, so this decides only whether to stop.
   */
  async #fenced(tenant: string): Promise<WriteOutcome<CoordinatorRecord>> {
    const counter = await this.#redis.get(redisKeys.fenceCounter(this.#options.clusterId));
    const isNewest = counter === String(this.#fence);
    if (!isNewest) this.#options.onFenced();
    return {
      kind: 'conflict',
      code: 'FENCED',
      current: isNewest ? this.#records.tampered(`fence/${tenant}`) : undefined,
    };
  }
}

function pairsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index]!] = flat[index + 1]!;
  return fields;
}
