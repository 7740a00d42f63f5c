/** A tenant store on the Redis in memory. Files that use this one and no real Redis belong to the tier `fast`. */
import type { Redis } from 'ioredis';
import type { Clock } from '../../core/actors/contract.ts';
import { systemClock } from '../../core/actors/live/ports.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';
import type { Change, CommitOutcome, TenantStore } from '../../wallets/store/contract.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { storePorts } from './store-ports.ts';

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

export function startMemoryStore(): StoreUnderTest {
  // As an embedded service, with smaller blocks.
  const memory = new MemoryRedis(systemClock, { values: 16, charsMin: 100 });
  const redis = memory.client();
  return {
    redis,
    connect: async () => memory.client(),
    open: async (clock) => new RedisTenantStore(memory.client(), { ...storePorts, ...(clock && { clock }) }),
    contents: (tenant) => contentsOf(redis, tenant),
    stop: () => Promise.resolve(),
  };
}

export async function contentsOf(redis: Redis, tenant: string): Promise<ReadonlyMap<string, unknown>> {
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

type Committed = Extract<CommitOutcome, { committed: true }>;

/** Commits what must not be refused. */
export async function done(store: TenantStore, tenant: string, change: Change): Promise<Committed> {
  const outcome = await store.commit(tenant, change);
  if (!outcome.committed) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return outcome;
}
