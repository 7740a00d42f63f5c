/**
 * The whole content of the private Redis, read and restored in one step each: no client sees a partial state, since Redis runs a
 * script or a transaction atomically. Values have the format of DUMP, so this code does not know their meaning.
 */
import { deserialize, serialize } from 'node:v8';
import type { Redis as RedisClient } from 'ioredis';
import { luaCommand, luaScript } from '../../core/redis/lua.ts';
import { ControlError } from '../../scenarios/faults/control.ts';
import { sealRestored } from '../redis/seal-records.ts';

/** Access tokens and the clusters' ownership records: they survive a reset. */
const keptPatterns = ['^sm:tok:', '^sm:{t:[^}]*}:tok$', '^sm:cluster$', '^sm:cluster:%d+$'];

interface Keyless<Args extends object> {
  readonly keys: Readonly<Record<string, never>>;
  readonly args: Args;
}

const dump = luaScript<Keyless<object>, readonly (Buffer | number)[]>('cli/up/dump.lua');
const clear = luaScript<Keyless<{ readonly retained: readonly string[] }>, string>('cli/up/clear.lua');

type Dump = readonly (readonly [key: Buffer, remainingMs: number, value: Buffer])[];

/** Limit of Redis's memory, in bytes: during the copy it serves no other command, and this process holds the data twice. */
const dumpedBytesMax = 512 * 1024 * 1024;

/** As bytes for a file. Throws ControlError when Redis holds too much. */
export async function dumpRedis(url: string, bytesMax = dumpedBytesMax): Promise<Buffer> {
  const flat = await withRedis(url, async (redis) => {
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    if (used > bytesMax) {
      const [has, most] = [used, bytesMax].map((bytes) => Math.ceil(bytes / 1024 / 1024));
      const message = `Redis uses ${has} MiB, and a snapshot takes at most ${most}: reset the sandbox, or take snapshots of a smaller one`;
      throw new ControlError({ code: 'conflict', message });
    }
    return luaCommand(redis, dump, 'buffers')({}, {});
  });
  const entries: [Buffer, number, Buffer][] = [];
  for (let index = 0; index + 2 < flat.length; index += 3) {
    entries.push([flat[index] as Buffer, flat[index + 1] as number, flat[index + 2] as Buffer]);
  }
  return serialize(entries);
}

/**
 * Deletes the present content; times to live continue from their saved values. `sealsFor`: the data directory whose keys give the
 * records their MACs, since their version had none.
 */
export async function restoreRedis(url: string, bytes: Buffer, sealsFor?: string): Promise<void> {
  const entries = deserialize(bytes) as Dump;
  await withRedis(url, async (redis) => {
    const transaction = redis.multi();
    transaction.flushall('SYNC');
    for (const [key, remainingMs, value] of entries) {
      // PTTL: -1 is a key for ever. The deserialized views are plain bytes; the client wants Buffers.
      transaction.restore(Buffer.from(key), Math.max(0, remainingMs), Buffer.from(value));
    }
    const results = await transaction.exec();
    for (const [error] of results ?? []) if (error) throw error;
    if (sealsFor !== undefined) await sealRestored(sealsFor, redis);
  });
}

export async function clearRedis(url: string): Promise<void> {
  await withRedis(url, (redis) => luaCommand(redis, clear)({}, { retained: keptPatterns }));
}

async function withRedis<T>(url: string, work: (redis: RedisClient) => Promise<T>): Promise<T> {
  const { connectRedis } = await import('../redis/redis-client.ts');
  const options = { connectTimeout: 5000, commandTimeout: 20_000, retryStrategy: () => null };
  const redis = connectRedis(url, { isPatient: false, ...options });
  redis.on('error', () => undefined);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
