/**
 * A connection as the gateway opens it (gateway/redis.ts), without its limit of a second for each answer: on a busy machine the
 * Redis of a test answers late. What a test says of that limit it says with the gateway's own connection.
 */
import type { Redis } from 'ioredis';
import { connectRedis } from '../../core/redis/connect.ts';
import { until } from './until.ts';

/** Resolves when it is connected. The caller disconnects it. */
export async function openConnection(url: string): Promise<Redis> {
  const redis = connectRedis(url, {
    isPatient: false,
    enableOfflineQueue: false,
    gathersWrites: true,
    retryStrategy: () => 50,
  });
  redis.on('error', () => undefined);
  await until(() => redis.status === 'ready', 'a connection to Redis');
  return redis;
}
