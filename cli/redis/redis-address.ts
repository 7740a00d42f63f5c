/** The Redis with the state, for commands that read it while a cluster runs. */
import { join } from 'node:path';
import { closedRefusal, type RedisRefusal, redisName, redisRefusal } from '../../core/actors/live/redis-refusal.ts';
import { firstWords } from '../../core/actors/live/redis-watch.ts';
import { Failure } from '../common/failure.ts';
import { readIfThere } from '../common/files.ts';
import { isRunning, readRecord } from '../common/process-records.ts';
import type { Settings } from '../settings/config.ts';

const connectWithinMs = 6_000;

/**
 * REDIS_URL if it is set, else the private Redis of the `signmesh up` that runs in the data directory. With its password: secret.
 * Throws a Failure when no cluster runs there.
 */
export function redisUrlFor(settings: Pick<Settings, 'REDIS_URL' | 'SIGNMESH_DATA_DIR'>): string {
  if (settings.REDIS_URL !== undefined) return settings.REDIS_URL;
  const dataDir = settings.SIGNMESH_DATA_DIR;
  const process = readRecord(join(dataDir, 'run', 'redis.pid'));
  const config = readIfThere(join(dataDir, 'redis', 'redis.conf'));
  if (process === undefined || config === undefined || !isRunning(process)) {
    throw new Failure(
      `No Redis runs in ${dataDir}: start the cluster there with "signmesh up", name another --data-dir, or set REDIS_URL.`,
    );
  }
  const port = /^port (\d+)$/m.exec(config)?.[1];
  const password = /^requirepass (\S+)$/m.exec(config)?.[1];
  if (port === undefined || password === undefined) {
    throw new Failure(`${join(dataDir, 'redis', 'redis.conf')} is damaged: "signmesh up" rewrites it when it starts.`);
  }
  return `redis://:${password}@127.0.0.1:${port}`;
}

/** A Redis that cannot be used, in one line without its password. */
export class RedisUnusable extends Failure {
  readonly refusal: RedisRefusal;

  constructor(url: string, refusal: RedisRefusal) {
    super(`${redisName(url)} ${refusal.text}.`);
    this.refusal = refusal;
  }
}

/** Runs `work` with a connection, and closes it. Throws RedisUnusable when Redis refuses the connection or a command. */
export async function withRedis<T>(url: string, work: (redis: import('ioredis').Redis) => Promise<T>): Promise<T> {
  const { connectRedis } = await import('./redis-client.ts');
  const redis = connectRedis(url, {
    isPatient: false,
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
  });
  // The client reports the cause here, and tells its caller only that the connection is closed.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await connected(redis, url, () => cause);
    return await work(redis).catch((error: unknown) => {
      const refusal = isOfRedis(error) ? redisRefusal(error) : undefined;
      throw refusal === undefined ? error : new RedisUnusable(url, refusal);
    });
  } finally {
    redis.disconnect();
  }
}

/** The client waits for ever for a Redis that accepts connections and does not answer, or that is still loading. */
async function connected(redis: import('ioredis').Redis, url: string, cause: () => unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it timed out')), connectWithinMs);
  });
  const connecting = redis.connect();
  connecting.catch(() => undefined);
  try {
    await Promise.race([connecting, late]);
  } catch (error) {
    const refusal = redisRefusal(cause()) ?? (await firstWords(url)) ?? redisRefusal(error) ?? closedRefusal;
    throw new RedisUnusable(url, refusal);
  } finally {
    clearTimeout(timer);
  }
}

/** A Redis error, or its missing answer; every other error of `work` passes unchanged. */
function isOfRedis(error: unknown): boolean {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return name === 'ReplyError' || message === 'Command timed out' || message === 'Connection is closed.';
}
