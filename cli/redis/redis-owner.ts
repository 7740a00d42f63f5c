/**
 * One Redis database, one installation: the clusters that were set up together. Key shares are with their cluster's nodes, so a
 * foreign cluster would find sessions and keys there that its nodes cannot serve. The first cluster writes its id down, and each
 * further one its own under its number; this check refuses any other by name.
 */
import type { RedisRefusal } from '../../core/actors/live/redis-refusal.ts';
import { redisHosts } from '../../core/redis/address.ts';
import { firstCluster, ofCluster } from '../../core/redis/clusters.ts';
import type { Roster } from '../../proto/roster.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { RedisUnusable, withRedis } from './redis-address.ts';

const ownerKey = 'sm:cluster';
const redisMajorNeeded = 7;
const retryMs = 250;

/** The parts of a roster that identify the owner of the Redis. */
export type Owner = Pick<Roster, 'clusterId' | 'number' | 'installation'>;

/**
 * Throws a Failure, one line without the password: exit 2 for a Redis of another cluster, of an older version, or one that deletes
 * records, exit 1 (RedisUnusable) for one that cannot be used. Resolves when the database is this cluster's.
 */
export async function claimRedis(
  url: string,
  { clusterId, number = firstCluster, installation }: Owner,
): Promise<void> {
  const claims = [
    [ownerKey, installation ?? clusterId],
    [ofCluster(ownerKey, number), clusterId],
  ] as const;
  for (const [key, id] of claims) await claim(url, key, id);
}

async function claim(url: string, key: string, clusterId: string): Promise<void> {
  const owner = await withRedis(url, async (redis) => {
    checkServer(await redis.info('server', 'memory'), url);
    await redis.set(key, clusterId, 'NX');
    return redis.get(key);
  });
  if (owner === clusterId) return;
  throw new Failure(
    `REDIS_URL: the Redis at ${redisHosts(url)} holds the state of another cluster (${owner}; this one is ${clusterId}). Name another Redis, another database of it, or empty this one (FLUSHDB).`,
    exitCodes.usage,
  );
}

export interface ClaimPatience {
  /** Whether to try again after such a refusal. */
  readonly mayWait: (refusal: RedisRefusal) => boolean;
  /** Called with every new reason for a retry. */
  readonly onWaiting: (why: string) => void;
}

/** As `claimRedis`, with retries while the refusal is temporary. */
export async function claimRedisPatiently(url: string, owner: Owner, patience: ClaimPatience): Promise<void> {
  for (let said = ''; ; ) {
    try {
      await claimRedis(url, owner);
      return;
    } catch (error) {
      if (!(error instanceof RedisUnusable) || !patience.mayWait(error.refusal)) throw error;
      if (error.message !== said) patience.onWaiting(error.message);
      said = error.message;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** `info`: as Redis describes itself. */
function checkServer(info: string, url: string): void {
  const version = /redis_version:((\d+)\.\S+)/.exec(info);
  if (version && Number(version[2]) < redisMajorNeeded) {
    throw new Failure(
      `REDIS_URL: the Redis at ${redisHosts(url)} is version ${version[1]}, and ${redisMajorNeeded} or newer is needed.`,
      exitCodes.usage,
    );
  }
  // Without maxmemory it never does.
  const policy = /maxmemory:0\b/.test(info) ? undefined : /maxmemory_policy:(\S+)/.exec(info)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    throw new Failure(
      `REDIS_URL: the Redis at ${redisHosts(url)} deletes records when its memory is full (maxmemory-policy ${policy}): a deleted idempotency key lets a transfer happen twice. Set maxmemory-policy to noeviction.`,
      exitCodes.usage,
    );
  }
}
