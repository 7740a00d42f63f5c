/** Which Redis holds the state, for commands that look into it while a cluster runs. */
import { join } from 'node:path';
import type { Settings } from './config.ts';
import { errorText, Failure } from './failure.ts';
import { readIfThere } from './files.ts';
import { isRunning, readRecord } from './up/process-identity.ts';

/**
 * REDIS_URL if it is set, else the private Redis of the `signmesh up` that runs in the data directory. With its password:
 * secret. Throws a Failure when nothing runs there.
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
    throw new Failure(
      `${join(dataDir, 'redis', 'redis.conf')} is damaged: "signmesh up" writes it anew when it starts.`,
    );
  }
  return `redis://:${password}@127.0.0.1:${port}`;
}

/** Runs `work` with a connection, and closes it. A Redis that cannot be used is a Failure without its password. */
export async function withRedis<T>(url: string, work: (redis: import('ioredis').Redis) => Promise<T>): Promise<T> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
    maxRetriesPerRequest: 0,
  });
  // The client says why here, and to its caller only that the connection is closed.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await redis.connect().catch((error: unknown) => {
      throw new Failure(`The Redis at ${new URL(url).host} cannot be used: ${errorText(cause ?? error)}`);
    });
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
