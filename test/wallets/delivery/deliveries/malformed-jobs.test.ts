/** Jobs that another program put into the queues, or altered there: none reaches a worker's code, and none is repeated. */
import { Queue } from 'bullmq';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BullReconQueue } from '../../../../wallets/companions/recon/bull-queue.ts';
import { BullQueue, openQueueRedis } from '../../../../wallets/delivery/deliveries/bull-queue.ts';
import type { WebhookJob } from '../../../../wallets/delivery/deliveries/queue.ts';
import { collectLog } from '../../../support/log.ts';
import { openDatabase, type RedisDatabase } from '../../../support/redis-database.ts';
import { until } from '../../../support/until.ts';

let database: RedisDatabase;
const ends: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  database = await openDatabase();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await database.stop();
});

const good: WebhookJob = { tenant: 'tn_1', webhookId: 'whk_1', deliveryId: 'dlv_1', tries: 0, sequence: 7 };
const strange = [null, 'text', 7, [], {}, { poison: true }] as const;
const altered = [{ toString: 'x' }, null, 7, ['a'], undefined] as const;
/** As a job may ask for it. */
const often = { attempts: 1_000_000, backoff: { type: 'fixed', delay: 1 } } as const;

function foreign(name: string, prefix: string): Queue {
  const redis = openQueueRedis(database.url);
  const queue = new Queue(name, { connection: redis, prefix });
  ends.push(async () => {
    await queue.close();
    redis.disconnect();
  });
  return queue;
}

test('of webhooks: every field may be wrong', async () => {
  const { log, lines } = collectLog();
  const redis = openQueueRedis(database.url);
  const queue = new BullQueue({ redis, log });
  const malformed = [
    ...strange,
    ...(['tenant', 'webhookId', 'deliveryId'] as const).flatMap((field) =>
      altered.map((value) => ({ ...good, [field]: value })),
    ),
    ...(['tries', 'sequence'] as const).flatMap((field) =>
      ['1', 1.5, null, {}].map((value) => ({ ...good, [field]: value })),
    ),
  ];
  await foreign('webhooks', '{sm-hooks}').addBulk(malformed.map((data) => ({ name: 'deliver', data, opts: often })));
  await queue.add([good]);
  const seen: unknown[] = [];
  const consumer = queue.consume(async (job) => {
    seen.push(job);
  });
  ends.push(async () => {
    await consumer.close(true);
    redis.disconnect();
  });
  const dropped = () => lines.filter(({ message }) => message === 'the queue held a malformed job; it was dropped');
  await until(() => dropped().length === malformed.length && seen.length === 1, 'every job');
  expect(seen).toEqual([good]);
  await until(async () => Object.values(await queue.counts()).every((count) => count === 0), 'an empty queue');
  expect(dropped().length).toBe(malformed.length);
});

test('of reconciliation', async () => {
  const { log, lines } = collectLog();
  const redis = openQueueRedis(database.url);
  const queue = new BullReconQueue({ redis, log });
  const malformed = [...strange, ...altered.map((jobId) => ({ tenant: 'tn_1', jobId }))];
  await foreign('recon', '{sm-recon}').addBulk(malformed.map((data) => ({ name: 'run', data, opts: often })));
  const task = { tenant: 'tn_1', jobId: 'rcj_1' };
  await queue.add(task);
  const seen: unknown[] = [];
  const consumer = queue.consume(async (given) => {
    seen.push(given);
  });
  ends.push(async () => {
    await consumer.close(true);
    redis.disconnect();
  });
  const dropped = () => lines.filter(({ message }) => message === 'the queue held a malformed job; it was dropped');
  await until(() => dropped().length === malformed.length && seen.length === 1, 'every job');
  expect(seen).toEqual([task]);
});
