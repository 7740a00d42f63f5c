/** `signmesh health worker`: what a container's health check asks. */
import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { heartbeatKey } from '../../gateway/worker-heartbeat.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { root } from './support/up-process.ts';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

function health(redisUrl: string): Promise<number | null> {
  const child = spawn(process.execPath, [join(root, 'cli/signmesh.mjs'), 'health', 'worker'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, REDIS_URL: redisUrl },
    stdio: 'ignore',
  });
  return new Promise((resolve) => child.on('exit', resolve));
}

test('a worker of this host that has left word lately is healthy; without its word, or without Redis, it is not', async () => {
  expect(await health(server.url)).toBe(1);
  await redis.set(heartbeatKey('another-host'), '1');
  expect(await health(server.url)).toBe(1);
  await redis.set(heartbeatKey(hostname()), '1');
  expect(await health(server.url)).toBe(0);
  expect(await health(`redis://127.0.0.1:${await freePort()}`)).toBe(1);
});
