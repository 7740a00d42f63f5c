/**
 * One Redis database, one cluster: its key shares lie with its own nodes, so another cluster would find sessions and
 * keys there that its nodes cannot serve. The first cluster writes its id down; any other is refused by name.
 */
import type { Redis as RedisClient } from 'ioredis';
import { errorText, exitCodes, Failure } from './failure.ts';

const ownerKey = 'sm:cluster';
const redisMajorNeeded = 7;
const timeoutMs = 5000;

/**
 * Throws a Failure, one line without the password: exit 2 for a Redis of another cluster, exit 1 for one that cannot be
 * used. Resolves when the database is this cluster's.
 */
export async function claimRedis(url: string, clusterId: string): Promise<void> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: timeoutMs });
  // The client says why here, and to its caller only that the connection is closed.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  const where = `REDIS_URL: the Redis at ${new URL(url).host}`;
  let owner: string | null;
  try {
    await redis.connect();
    await checkVersion(redis);
    await redis.set(ownerKey, clusterId, 'NX');
    owner = await redis.get(ownerKey);
  } catch (error) {
    throw new Failure(`${where} cannot be used: ${errorText(cause ?? error).replace(/\.$/, '')}.`);
  } finally {
    redis.disconnect();
  }
  if (owner === clusterId) return;
  throw new Failure(
    `${where} holds the state of another cluster (${owner}; this one is ${clusterId}). Name another Redis, or another database of it.`,
    exitCodes.usage,
  );
}

async function checkVersion(redis: RedisClient): Promise<void> {
  const version = /redis_version:((\d+)\.\S+)/.exec(await redis.info('server'));
  if (version && Number(version[2]) < redisMajorNeeded) {
    throw new Error(`it is version ${version[1]}, and ${redisMajorNeeded} or newer is needed`);
  }
}
