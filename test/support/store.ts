/** A tenant store on a real Redis or on the one in memory, and a small kind of record to fill it with. */
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { Clock } from '../../actors/contract.ts';
import { silentLog, systemClock, systemPorts } from '../../actors/live/ports.ts';
import { openRedis } from '../../gateway/redis.ts';
import { uuidV7 } from '../../proto/ids.ts';
import { MemoryRedis } from '../../redis/memory/memory-redis.ts';
import type {
  Change,
  CommitOutcome,
  CommitRefusal,
  NewEvent,
  RecordType,
  TenantStore,
  Versioned,
} from '../../store/contract.ts';
import { RedisTenantStore } from '../../store/redis-tenant-store.ts';
import { openDatabase, type RedisDatabase } from './redis-database.ts';
import { until } from './until.ts';

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

export interface StoreUnderTest {
  /** For looking at what lies in Redis. */
  readonly redis: Redis;
  /** A connection as the gateway makes it. */
  connect(): Promise<Redis>;
  /** A store with a connection of its own. */
  open(clock?: Clock): Promise<RedisTenantStore>;
  /** All that Redis has of a tenant. */
  contents(tenant: string): Promise<ReadonlyMap<string, unknown>>;
  stop(): Promise<void>;
}

export type StoreWorld = 'Redis' | 'memory';
/** What a store must do, it does in both. */
export const storeWorlds: readonly StoreWorld[] = ['Redis', 'memory'];

/** `where`: one that the test brings, and that `stop` stops; or the world to open one in, Redis unless told. */
export async function startStore(where: RedisDatabase | StoreWorld = 'Redis'): Promise<StoreUnderTest> {
  if (where === 'memory') return startMemory();
  const server = where === 'Redis' ? await openDatabase() : where;
  const redis = new Redis(server.url, { retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  const connections: Redis[] = [redis];
  const connect = async (): Promise<Redis> => {
    const connection = openRedis(server.url, silentLog);
    connections.push(connection);
    await until(() => connection.status === 'ready', 'a connection to Redis');
    return connection;
  };
  return {
    redis,
    connect,
    open: async (clock) => new RedisTenantStore(await connect(), { ...systemPorts, ...(clock && { clock }) }),
    contents: (tenant) => contentsOf(redis, tenant),
    stop: async () => {
      for (const connection of connections) connection.disconnect();
      await server.stop();
    },
  };
}

function startMemory(): StoreUnderTest {
  // As an embedded service, with smaller blocks.
  const memory = new MemoryRedis(systemClock, { values: 16, charsMin: 100 });
  const redis = memory.client();
  return {
    redis,
    connect: async () => memory.client(),
    open: async (clock) => new RedisTenantStore(memory.client(), { ...systemPorts, ...(clock && { clock }) }),
    contents: (tenant) => contentsOf(redis, tenant),
    stop: () => Promise.resolve(),
  };
}

async function contentsOf(redis: Redis, tenant: string): Promise<ReadonlyMap<string, unknown>> {
  const keys = (await redis.keys(`sm:{t:${tenant}}:*`)).sort();
  const values = await Promise.all(keys.map((key) => stored(redis, key)));
  return new Map(keys.map((key, k) => [key, values[k]]));
}

async function stored(redis: Redis, key: string): Promise<unknown> {
  const expires = (await redis.pttl(key)) >= 0;
  switch (await redis.type(key)) {
    case 'hash':
      return { expires, value: await redis.hgetall(key) };
    case 'zset':
      return { expires, value: await redis.zrange(key, '0', '-1', 'WITHSCORES') };
    case 'stream':
      return { expires, value: await redis.xrange(key, '-', '+') };
    default:
      return { expires, value: await redis.get(key) };
  }
}

let tenants = 0;

export function newTenant(): string {
  tenants += 1;
  return `tenant-${tenants}`;
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

type Committed = Extract<CommitOutcome, { committed: true }>;

/** Commits what must not be refused. */
export async function done(store: TenantStore, tenant: string, change: Change): Promise<Committed> {
  const outcome = await store.commit(tenant, change);
  if (!outcome.committed) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return outcome;
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
