/** One Redis database serves one cluster, on a Redis of the test's own. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { claimRedis } from '../../cli/redis/redis-owner.ts';
import { oldPortForMs } from '../../cli/up/child-ports.ts';
import { privateRedis } from '../../cli/up/private-redis.ts';
import { SupervisedChild } from '../../cli/up/supervisor.ts';
import { freePort } from '../support/ports.ts';
import { patienceMs } from '../support/until.ts';
import { temporaryFolder } from './support/temporary.ts';

async function startRedis(ports: readonly number[] = []): Promise<string> {
  return (await supervised(ports)).redis.url;
}

/** `onMoved`: it has another address after a restart. */
async function supervised(ports: readonly number[] = [], onMoved = () => undefined) {
  const dataDir = join(temporaryFolder(), 'with space and "quotes"');
  const choices = [...ports];
  mkdirSync(dataDir);
  const files = { logFile: join(dataDir, 'redis.log'), recordFile: join(dataDir, 'redis.pid') };
  const redis = await privateRedis({
    dataDir,
    reservedPorts: new Set(),
    fsync: 'no',
    program: undefined,
    ...files,
    onMoved,
    choosePort: async () => choices.shift() ?? freePort(),
  });
  const child = new SupervisedChild(redis.spec, () => undefined);
  child.start();
  onTestFinished(() => child.stop(5000));
  await child.whenReady;
  return { redis, child };
}

test('the first cluster owns it, every time; another is refused by name and without the password', async () => {
  const url = await startRedis();
  await claimRedis(url, { clusterId: 'cl_first' });
  await claimRedis(url, { clusterId: 'cl_first' });
  await claimRedis(`${url}/1`, { clusterId: 'cl_second' });
  const refusal = await claimRedis(url, { clusterId: 'cl_second' }).catch((error: Error) => error);
  expect(refusal).toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('another cluster (cl_first; this one is cl_second)'),
  });
  expect((refusal as Error).message).not.toContain(new URL(url).password);
});

test('a Redis that deletes records when its memory is full is refused, with the remedy', async () => {
  const url = await startRedis();
  const operator = new Redis(url);
  onTestFinished(() => operator.disconnect());
  await operator.config('SET', 'maxmemory-policy', 'volatile-lru');
  await claimRedis(url, { clusterId: 'cl_first' });
  await operator.config('SET', 'maxmemory', '1gb');
  await expect(claimRedis(url, { clusterId: 'cl_first' })).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/deletes records .*maxmemory-policy volatile-lru.*to noeviction[.]$/),
  });
  await operator.config('SET', 'maxmemory-policy', 'noeviction');
  await claimRedis(url, { clusterId: 'cl_first' });
});

test('a Redis that is not there, or is none, cannot be used', async () => {
  const port = await freePort();
  await expect(claimRedis(`redis://127.0.0.1:${port}`, { clusterId: 'cl_x' })).rejects.toThrow(
    /cannot be reached: nothing listens there/,
  );
  const url = new URL(await startRedis());
  url.password = 'wrong';
  await expect(claimRedis(url.href, { clusterId: 'cl_x' })).rejects.toThrow(
    /refuses the user or the password.*WRONGPASS/,
  );
});

test('the password of the private one is not among the arguments', async () => {
  const url = new URL(await startRedis());
  const ps = spawn('ps', ['-eo', 'args'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  for await (const chunk of ps.stdout) text += String(chunk);
  expect(text).toContain('redis.conf');
  expect(text).not.toContain(url.password);
});

test('the private one takes another port when Redis says that its port is taken', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void holder.close());
  const { port } = holder.address() as AddressInfo;
  const free = await freePort();
  expect(new URL(await startRedis([port, port, free])).port).toBe(String(free));
});

test('one that is restarted tries its old port for two seconds, then moves, says so and has its data', async () => {
  const moves: string[] = [];
  const { redis, child } = await supervised([], () => void moves.push(redis.url));
  const before = redis.url;
  await claimRedis(before, { clusterId: 'cl_first' });
  const holder = createServer();
  onTestFinished(() => void holder.close());
  await child.crash(0, () => holder.listen(Number(new URL(before).port), '127.0.0.1'));
  const beganMs = performance.now();
  await child.whenBack(patienceMs());
  expect(performance.now() - beganMs).toBeGreaterThan(oldPortForMs);
  expect(redis.url).not.toBe(before);
  expect(moves).toEqual([redis.url]);
  await expect(claimRedis(redis.url, { clusterId: 'cl_second' })).rejects.toThrow('another cluster (cl_first');
});

test('it gives up after 20 ports', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void holder.close());
  const { port } = holder.address() as AddressInfo;
  await expect(startRedis(Array.from({ length: 21 }, () => port))).rejects.toThrow(
    /^redis-server found 20 ports of 127\.0\.0\.1 taken.*REDIS_URL/,
  );
});
