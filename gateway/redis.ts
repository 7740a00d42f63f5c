/**
 * The gateway's connection to Redis. Commands fail at once while it is unreachable, instead of waiting in a queue: their
 * callers have a fallback (cached tokens, limits off).
 */
import type { Redis } from 'ioredis';
import type { Log } from '../core/actors/live/ports.ts';
import { connectRedis } from '../core/redis/connect.ts';

const commandTimeoutMs = 1_000;
const reconnectMaxMs = 1_000;

/** Begins to connect and returns at once; comes back by itself for ever. `replicas`: as in ConnectOptions. */
export function openRedis(url: string, log: Log, replicas = 0): Redis {
  const redis = connectRedis(url, {
    ...{ isPatient: false, replicas },
    enableOfflineQueue: false,
    gathersWrites: true,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(reconnectMaxMs, 50 * 2 ** Math.min(attempt, 10)),
  });
  // Its watch logs the reason once (core/actors/live/redis-watch.ts); here it is logged every time.
  redis.on('error', (error: NodeJS.ErrnoException) =>
    log.debug({ reason: error.code ?? error.message }, 'Redis is unreachable'),
  );
  return redis;
}
