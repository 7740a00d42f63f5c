/** Everything that a Redis holds, as one text: to search it for what must not be there, and to see that nothing changed. */
import type { Redis } from 'ioredis';

export async function dumpRedis(redis: Redis): Promise<string> {
  const lines: string[] = [];
  for (const key of (await redis.keys('*')).sort()) {
    lines.push(JSON.stringify([key, await contentOf(redis, key)]));
  }
  return lines.join('\n');
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return Object.entries(await redis.hgetall(key)).sort();
    case 'zset':
      return ((await redis.call('ZRANGE', key, '0', '-1', 'WITHSCORES')) as unknown[]).flat();
    case 'set':
      return (await redis.smembers(key)).sort();
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      throw new Error(`a key of type ${type}`);
  }
}
