/** A tenant store on a real Redis or on the one in memory, and a small kind of record to fill it with. */
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { silentLog } from '../../core/actors/live/ports.ts';
import { openRedis } from '../../gateway/redis.ts';
import { uuidV7 } from '../../proto/ids.ts';
import type {
  Change,
  CommitRefusal,
  NewEvent,
  RecordType,
  TenantStore,
  Versioned,
} from '../../wallets/store/contract.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { contentsOf, type StoreUnderTest, startMemoryStore } from './memory-store.ts';
import { openConnection } from './redis-connection.ts';
import { openDatabase, type RedisDatabase } from './redis-database.ts';
import { storePorts } from './store-ports.ts';
import { until } from './until.ts';

export { done, newTenant, type StoreUnderTest } from './memory-store.ts';

export interface Thing extends Versioned {
  readonly status: string;
  readonly tags: readonly string[];
  readonly note?: unknown;
}

export const thingType: RecordType<Thing> = {
  name: 'thing',
  status: ({ status }) => status,
  indices: ({ status, tags }) => ['things', `things:status:${status}`, ...tags.map((tag) => `things:tag:${tag}`)],
};

export type StoreWorld = 'Redis' | 'memory';
/** What a store must do, it does in both. */
export const storeWorlds: readonly StoreWorld[] = ['Redis', 'memory'];

/**
 * `where`: a server that the test brings, and that `stop` stops; or the world to open one in, Redis unless told. `connected`: with the
 * gateway's time limits where the test brings a server, since it may harm it; otherwise as patient as a busy machine needs.
 */
export async function startStore(
  where: RedisDatabase | StoreWorld = 'Redis',
  connected: (url: string) => Redis | Promise<Redis> = where === 'Redis'
    ? openConnection
    : (url) => openRedis(url, silentLog),
): Promise<StoreUnderTest> {
  if (where === 'memory') return startMemoryStore();
  const server = where === 'Redis' ? await openDatabase() : where;
  const redis = new Redis(server.url, { retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  const connections: Redis[] = [redis];
  const connect = async (): Promise<Redis> => {
    const connection = await connected(server.url);
    connections.push(connection);
    await until(() => connection.status === 'ready', 'a connection to Redis');
    return connection;
  };
  return {
    redis,
    connect,
    open: async (clock) => new RedisTenantStore(await connect(), { ...storePorts, ...(clock && { clock }) }),
    contents: (tenant) => contentsOf(redis, tenant),
    stop: async () => {
      for (const connection of connections) connection.disconnect();
      await server.stop();
    },
  };
}

let drawn = 0;

/** A new id of this millisecond. Ids of one millisecond sort in the order of their making. */
export function thingId(timeMs: number): string {
  drawn += 1;
  const bytes = Buffer.alloc(10);
  // The last four bits of the ten bytes have no place in the id.
  bytes.writeUInt32BE(drawn * 16, 6);
  return `thg_${uuidV7(timeMs, () => new Uint8Array(bytes))}`;
}

export function thing(id: string, over: Partial<Thing> = {}): Thing {
  return { id, version: 1, status: 'open', tags: [], ...over };
}

export function next(before: Thing, over: Partial<Thing> = {}): Thing {
  return { ...before, version: before.version + 1, ...over };
}

let events = 0;

export function eventFor(resourceId: string, over: Partial<NewEvent> = {}): NewEvent {
  events += 1;
  return {
    id: `evt_${events}`,
    type: 'thing.changed',
    atMs: 1_800_000_000_000 + events,
    resource: { type: 'thing', id: resourceId, version: 1 },
    correlationId: 'cor_1',
    provider: null,
    connectionId: null,
    object: { id: resourceId },
    ...over,
  };
}

/** Commits a change that must be refused, and checks that it had no effect. */
export async function refused(
  under: StoreUnderTest,
  store: TenantStore,
  tenant: string,
  change: Change,
  ...mark: Parameters<TenantStore['commit']>[2][]
): Promise<CommitRefusal> {
  const before = await under.contents(tenant);
  const outcome = await store.commit(tenant, change, ...mark);
  if (outcome.committed) throw new Error('the change was not refused');
  expect(await under.contents(tenant)).toEqual(before);
  return outcome.refusal;
}
