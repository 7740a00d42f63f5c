/** The commands of one turn of the event loop, in one write to the socket. */
import type { Redis } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { connectRedis } from '../../../core/redis/connect.ts';
import { openDatabase } from '../../support/redis-database.ts';
import { until } from '../../support/until.ts';

const connections: Redis[] = [];
afterEach(() => {
  for (const redis of connections.splice(0)) redis.disconnect();
});

async function connect(gathersWrites: boolean): Promise<Redis> {
  const { url } = await openDatabase();
  const redis = connectRedis(url, { isPatient: false, gathersWrites, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  connections.push(redis);
  await until(() => redis.status === 'ready', 'the connection');
  return redis;
}

/** Counts what the client's socket hands to the system: writes by themselves, and gathered ones. */
function countWrites({ stream }: Redis): () => { single: number; gathered: number } {
  const single = vi.spyOn(stream, '_write');
  const gathered = vi.spyOn(stream, '_writev' as '_write');
  return () => ({ single: single.mock.calls.length, gathered: gathered.mock.calls.length });
}

const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);

test('commands of one turn leave in one write, and are answered in their order', async () => {
  const redis = await connect(true);
  const writes = countWrites(redis);
  const answers = await Promise.all(names.flatMap((name) => [redis.set(name, `of ${name}`), redis.get(name)]));
  expect(answers).toEqual(names.flatMap((name) => ['OK', `of ${name}`]));
  expect(writes()).toEqual({ single: 0, gathered: 1 });
  expect(await redis.mget(names)).toEqual(names.map((name) => `of ${name}`));
  expect(writes()).toEqual({ single: 1, gathered: 1 });
});

test('otherwise each leaves by itself', async () => {
  const redis = await connect(false);
  const writes = countWrites(redis);
  await Promise.all(names.map((name) => redis.set(name, '')));
  expect(writes()).toEqual({ single: names.length, gathered: 0 });
});

test('commands of the turn in which the connection is lost fail, and those of the next connection do not', async () => {
  const redis = await connect(true);
  const lost = Promise.allSettled([redis.set('a', '1'), redis.set('b', '2')]);
  redis.stream.destroy();
  expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await until(() => redis.status === 'ready', 'the connection');
  expect(await Promise.all([redis.set('a', '3'), redis.get('a'), redis.get('b')])).toEqual(['OK', '3', null]);
});
