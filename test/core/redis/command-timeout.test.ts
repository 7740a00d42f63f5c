/** A command fails for want of an answer, and not because its own process had no time to read it. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { connectRedis } from '../../../core/redis/connect.ts';
import { openDatabase } from '../../support/redis-database.ts';
import { until } from '../../support/until.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function connect(url: string, commandTimeout: number): Redis {
  const redis = connectRedis(url, { isPatient: true, commandTimeout, retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  cleanUps.push(() => redis.disconnect());
  return redis;
}

/** The process stands still: nothing of it runs. */
function standStill(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}

test('what has been answered while the process stood still for longer than the timeout is read', async () => {
  const { url } = await openDatabase();
  const redis = connect(url, 1_000);
  await until(async () => (await redis.set('key', 'value')) === 'OK', 'a Redis that answers');
  let forMs = 1_500;
  await until(async () => {
    const replies = Promise.all(Array.from({ length: 50 }, () => redis.get('key')));
    standStill(forMs);
    // On a busy machine Redis may need longer to answer.
    forMs *= 2;
    return new Set(await replies);
  }, 'what Redis has answered meanwhile').then((replies) => expect(replies).toEqual(new Set(['value'])));
});

test('what is not answered fails in time, after a pause of the process too', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined));
  cleanUps.push(() => silent.close());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const redis = connect(`redis://127.0.0.1:${(silent.address() as AddressInfo).port}`, 100);
  const beganMs = performance.now();
  await expect(redis.get('key')).rejects.toThrow('Command timed out');
  const paused = redis.get('key');
  standStill(250);
  await expect(paused).rejects.toThrow('Command timed out');
  expect(performance.now() - beganMs).toBeGreaterThan(300);
});
