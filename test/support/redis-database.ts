/**
 * A logical database of the worker's redis-server, for one test file alone: the server is shared, the keys are not. A test
 * that stops, slows or configures Redis starts a server of its own (redis.ts).
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';

/** Of one server; the first counts the others. */
export const databases = 10_000;

export interface RedisDatabase {
  readonly url: string;
  /** Removes its keys. Repeatable. */
  stop(): Promise<void>;
}

export async function openDatabase(): Promise<RedisDatabase> {
  const urls = inject('redisUrls');
  // Workers are numbered from 1.
  const server = urls[(Number(process.env.VITEST_POOL_ID) - 1) % urls.length]!;
  const counter = new Redis(server);
  const opened = await counter.incr('databases').finally(() => counter.disconnect());
  // Those opened long ago are empty again.
  const url = `${server}/${1 + (opened % (databases - 1))}`;
  return {
    url,
    stop: async () => {
      const redis = new Redis(url);
      await redis.flushdb('ASYNC').finally(() => redis.disconnect());
    },
  };
}

/** Calls `begin` before each test of a file, with a connection to a database of the file's own that is empty. */
export function useDatabase(begin: (redis: Redis, url: string) => void | Promise<void>): void {
  let database: RedisDatabase;
  let redis: Redis;
  beforeAll(async () => {
    database = await openDatabase();
    redis = new Redis(database.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await database.stop();
  });
  beforeEach(async () => {
    await redis.flushdb();
    await begin(redis, database.url);
  });
}
