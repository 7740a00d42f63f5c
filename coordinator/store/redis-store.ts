/**
 * The coordinator's Store on a live Redis: connects, raises this start's fence, and watches whether Redis accepts writes.
 *
 * While Redis is unreachable, commands wait for it, up to commandTimeoutMs; then the write's fate is unknown and it rejects.
 */
import type { Store } from '../../core/actors/contract.ts';
import { type Log, silentLog, systemClock } from '../../core/actors/live/ports.ts';
import { RedisWatch } from '../../core/actors/live/redis-watch.ts';
import { connectRedis, watchedConnection } from '../../core/redis/connect.ts';
import { RedisClusters } from '../../core/redis/redis-clusters.ts';
import type { CoordinatorRecord, CoordinatorWrite } from '../contract/messages.ts';
import { raiseFence } from './fence.ts';
import { redisKeys } from './layout.ts';
import { SessionStore, type SessionStoreOptions } from './session-store.ts';

export interface RedisStore extends Store<CoordinatorWrite, CoordinatorRecord> {
  /** This start's fence. */
  readonly fence: number;
  /** The registry for the announcements of its cluster. */
  readonly registry: RedisClusters;
  close(): Promise<void>;
}

export interface RedisStoreOptions
  extends Omit<SessionStoreOptions, 'clock'>,
    Partial<Pick<SessionStoreOptions, 'clock'>> {
  readonly redisUrl: string;
  /** A write is durable only when this many replicas have it; 0 by default. */
  readonly replicas?: number;
  /** Logs, once for each change, why Redis refuses writes. */
  readonly log?: Log;
  /** Called at the same times; undefined: Redis accepts writes. */
  readonly onTrouble?: (trouble: string | undefined) => void;
  /** The longest wait of a command for Redis; 5 s by default. */
  readonly commandTimeoutMs?: number;
  /** Called whenever Redis becomes reachable or unreachable. */
  readonly onStatus: (ready: boolean) => void;
}

/** Connects and raises the fence, for as long as Redis refuses: until then no session can open. Never rejects. */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const redis = connectRedis(options.redisUrl, {
    ...{ isPatient: true, replicas: options.replicas },
    commandTimeout: options.commandTimeoutMs ?? 5000,
    retryStrategy: (times) => Math.min(50 * times, 1000),
  });
  redis.on('error', () => options.onStatus(false));
  redis.on('close', () => options.onStatus(false));
  redis.on('ready', () => options.onStatus(true));
  const watch = new RedisWatch({
    ...{ redis: watchedConnection(redis), url: options.redisUrl, log: options.log ?? silentLog },
    probeKey: redisKeys.probe,
    onChange: () => options.onTrouble?.(watch.trouble),
  });
  options.onTrouble?.(watch.trouble);
  const fence = await raiseFence(redis, redisKeys.fenceCounter(options.clusterId));
  const store = new SessionStore(redis, fence, { clock: systemClock, ...options, soon: setImmediate });
  return {
    load: (key) => store.load(key),
    write: (write) => store.write(write),
    fence,
    registry: new RedisClusters(redis),
    close: async () => {
      watch.stop();
      // An unreachable Redis would delay a graceful close.
      if (redis.status === 'ready') await redis.quit().catch(() => undefined);
      redis.disconnect();
    },
  };
}
