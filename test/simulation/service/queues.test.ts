/** One suite for the port of the queue of tries: BullMQ on a real Redis, and the queue in memory of a simulated world. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, systemTimers } from '../../../core/actors/live/ports.ts';
import { MemoryQueue } from '../../../simulation/service/memory-queue.ts';
import { BullQueue, openQueueRedis } from '../../../wallets/delivery/deliveries/bull-queue.ts';
import { bullPrefix, bullQueueName } from '../../../wallets/delivery/deliveries/keys.ts';
import type { JobConsumer, WebhookJob, WebhookQueue } from '../../../wallets/delivery/deliveries/queue.ts';
import { openDatabase, type RedisDatabase } from '../../support/redis-database.ts';
import { until } from '../../support/until.ts';

const times = { lockMs: 400, stalledEveryMs: 200 };

interface Open {
  readonly queue: WebhookQueue;
  end(): Promise<void>;
}

const worlds: Readonly<Record<'BullMQ' | 'memory', () => Promise<Open>>> = {
  BullMQ: async () => {
    const database: RedisDatabase = await openDatabase();
    const redis = openQueueRedis(database.url);
    return {
      queue: new BullQueue({ redis, log: silentLog, consumer: times }),
      end: async () => {
        redis.disconnect();
        await database.stop();
      },
    };
  },
  memory: async () => {
    const jobs = new MemoryQueue<WebhookJob>(systemTimers, ({ deliveryId, tries }) => `${deliveryId}-${tries}`, times);
    const way = { isAlive: () => true, enter: (run: () => void) => run() };
    return {
      queue: {
        add: async (added) => jobs.add(added),
        consume: (work) => jobs.consume(way, 1_024, work, () => undefined),
      },
      end: async () => undefined,
    };
  },
};

describe.each(['BullMQ', 'memory'] as const)('the queue of tries: %s', (world) => {
  let open: Open;
  const consumers: JobConsumer[] = [];
  beforeEach(async () => {
    open = await worlds[world]();
  });
  afterEach(async () => {
    await Promise.all(consumers.splice(0).map((consumer) => consumer.close(true)));
    await open.end();
  });

  const job = (deliveryId: string, tries = 0): WebhookJob => {
    return { tenant: 'tn_queue', webhookId: 'whk_1', deliveryId, tries, sequence: 1 };
  };
  const consume = (work: (given: WebhookJob) => Promise<void>): JobConsumer => {
    const consumer = open.queue.consume(work);
    consumers.push(consumer);
    return consumer;
  };
  /** Does jobs and notes them. */
  const noting = (): { readonly names: string[]; readonly consumer: JobConsumer } => {
    const names: string[] = [];
    const consumer = consume(async ({ deliveryId, tries }) => {
      names.push(`${deliveryId}-${tries}`);
    });
    return { names, consumer };
  };

  test('a job that waits is there once; each try is a job of its own', async () => {
    await open.queue.add([job('a'), job('b')]);
    await open.queue.add([job('a'), job('a', 1)]);
    await open.queue.add([]);
    const { names } = noting();
    await until(() => names.length === 3, 'three jobs');
    expect(names.toSorted()).toEqual(['a-0', 'a-1', 'b-0']);
  });

  test('a job that was done is gone, and may be added again', async () => {
    const { names } = noting();
    await open.queue.add([job('c')]);
    await until(() => names.length === 1, 'the job');
    await until(async () => {
      await open.queue.add([job('c')]);
      return names.length >= 2;
    }, 'the job again');
    expect(new Set(names)).toEqual(new Set(['c-0']));
  });

  test('what work throws costs the job, and no other', async () => {
    const names: string[] = [];
    consume(async ({ deliveryId }) => {
      names.push(deliveryId);
      if (deliveryId === 'd') throw new Error('it fails');
    });
    await open.queue.add([job('d')]);
    await until(() => names.length === 1, 'the job that fails');
    await open.queue.add([job('e')]);
    await until(() => names.length === 2, 'the next one');
    expect(names).toEqual(['d', 'e']);
  });

  test('a consumer that closes waits for what it has in hand; then it takes nothing more', async () => {
    const finish: (() => void)[] = [];
    const begun: string[] = [];
    const closing = consume(async ({ deliveryId }) => {
      begun.push(deliveryId);
      await new Promise<void>((resolve) => finish.push(resolve));
    });
    await open.queue.add([job('f')]);
    await until(() => begun.length === 1, 'the first job');
    let isClosed = false;
    const closed = closing.close().then(() => {
      isClosed = true;
    });
    await open.queue.add([job('g')]);
    const { names } = noting();
    // A consumer that asked before it was closed may still be given it.
    await until(() => begun.length + names.length === 2, 'the second job');
    expect([...begun, ...names.map((name) => name.slice(0, 1))]).toEqual(['f', 'g']);
    expect(isClosed).toBe(false);
    for (const end of finish) end();
    await closed;
    const before = begun.length;
    await open.queue.add([job('i')]);
    await until(() => names.at(-1) === 'i-0', 'the job of another consumer');
    expect(begun).toHaveLength(before);
  });

  test('a job whose consumer was cut is done by another when its lock ends', async () => {
    const begun: string[] = [];
    const cut = consume(({ deliveryId }) => {
      begun.push(deliveryId);
      return new Promise(() => undefined);
    });
    await open.queue.add([job('h')]);
    await until(() => begun.length === 1, 'the job of the first');
    await cut.close(true);
    const { names } = noting();
    await until(() => names.length === 1, 'the job of the second');
    expect(names).toEqual(['h-0']);
  });
});

test('BullMQ trims the stream of its own events, which no code reads', async () => {
  const database = await openDatabase();
  const redis = openQueueRedis(database.url);
  const queue = new BullQueue({ redis, log: silentLog, consumer: times });
  await queue.add([{ tenant: 'tn_queue', webhookId: 'whk_1', deliveryId: 'dlv_1', tries: 0, sequence: 1 }]);
  expect(Number(await redis.hget(`${bullPrefix}:${bullQueueName}:meta`, 'opts.maxLenEvents'))).toBe(1_000);
  redis.disconnect();
  await database.stop();
});
