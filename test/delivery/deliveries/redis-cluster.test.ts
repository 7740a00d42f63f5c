/** On a Redis in cluster mode, which refuses commands and scripts that name keys of more than one slot. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../actors/live/ports.ts';
import { bullPrefix } from '../../../delivery/deliveries/keys.ts';
import { WebhookService } from '../../../delivery/deliveries/webhook-service.ts';
import { webhookType } from '../../../delivery/webhooks/record.ts';
import { remove } from '../../../store/changes.ts';
import { freePort, type TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import { type Receiver, sequencesOf, startReceiver } from './support/receiver.ts';
import { type HookService, newTenant, startService } from './support/service.ts';

let service: HookService;
let target: Receiver;
beforeAll(async () => {
  service = await startService(await startClusterRedis());
  target = await startReceiver();
});
afterAll(async () => {
  await target?.stop();
  await service?.stop();
});

/** One node that has every slot. */
async function startClusterRedis(): Promise<TestRedis> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'signmesh-redis-cluster-'));
  const mode = ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())];
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory, ...mode],
    { stdio: 'ignore' },
  );
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, enableReadyCheck: false });
  redis.on('error', () => undefined);
  await until(() => redis.ping(), 'a Redis');
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until(async () => (await redis.cluster('INFO')).includes('cluster_state:ok'), 'a cluster that is whole');
  redis.disconnect();
  const stop = async () => {
    process.off('exit', killWithUs);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    rmSync(directory, { recursive: true, force: true });
  };
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  return { url: `redis://127.0.0.1:${port}`, port, directory, signal, stop };
}

test('it refuses what names keys of two slots', async () => {
  await expect(service.redis.mget('one', 'another')).rejects.toThrow(/CROSSSLOT/);
  await expect(service.redis.eval('return 1', 2, 'one', 'another')).rejects.toThrow(/slot/);
});

test('events are delivered, tried again, asked for again, and a removed webhook is cleared away', async () => {
  await service.work();
  const tenant = newTenant();
  target.answer = (_, index) => (index % 3 === 0 ? 500 : 200);
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const sequences = await service.happen(tenant, 40);
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);

  target.answer = () => 200;
  const webhookService = new WebhookService(service.hooks, service.store, systemClock);
  const before = target.received.length;
  const outcome = await webhookService.redeliverRange(tenant, hook.id, {
    statuses: ['delivered', 'failed'],
    types: [],
  });
  expect(outcome.redelivered).toBe(40);
  await service.settled(tenant, hook.id);
  expect(target.received).toHaveLength(before + 40);
  const slots = new Map<number, string>();
  for (const key of await service.redis.keys('*')) {
    const group = key.startsWith(`sm:{t:${tenant}}:`) ? tenant : key.startsWith(`${bullPrefix}:`) ? 'bullmq' : key;
    slots.set(Number(await service.redis.call('CLUSTER', 'KEYSLOT', key)), group);
  }
  // A tenant's keys and BullMQ's have one slot each.
  expect([...slots.values()].filter((group) => group === tenant)).toHaveLength(1);
  expect([...slots.values()].filter((group) => group === 'bullmq')).toHaveLength(1);
  await service.hooks.trim(tenant, hook.id, limits, Date.now());

  const record = await service.webhook(tenant, hook.id);
  await service.store.commit(tenant, { removals: [remove(webhookType, record)] });
  await until(async () => (await service.redis.keys(`sm:{t:${tenant}}:hk*`)).length === 0, 'nothing to be left');
});

const limits = { windowMax: 16, failingWindowMax: 4, retryingMax: 100, retainedMax: 100, retentionMs: 1e9 };
