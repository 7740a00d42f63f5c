/** One suite for the port of the queue of reconciliation jobs: BullMQ on a real Redis, and the queue in memory. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, systemTimers } from '../../../core/actors/live/ports.ts';
import { MemoryQueue } from '../../../simulation/service/memory-queue.ts';
import { BullReconQueue } from '../../../wallets/companions/recon/bull-queue.ts';
import type { ReconConsumer, ReconQueue, ReconTask } from '../../../wallets/companions/recon/queue.ts';
import { openQueueRedis } from '../../../wallets/delivery/deliveries/bull-queue.ts';
import { openDatabase } from '../../support/redis-database.ts';
import { until } from '../../support/until.ts';

const times = { lockMs: 400, stalledEveryMs: 200 };

interface Open {
  readonly queue: ReconQueue;
  end(): Promise<void>;
}

const worlds: Readonly<Record<'BullMQ' | 'memory', () => Promise<Open>>> = {
  BullMQ: async () => {
    const database = await openDatabase();
    const redis = openQueueRedis(database.url);
    return {
      queue: new BullReconQueue({ redis, log: silentLog, consumer: times }),
      end: async () => {
        redis.disconnect();
        await database.stop();
      },
    };
  },
  memory: async () => {
    const jobs = new MemoryQueue<ReconTask>(systemTimers, ({ tenant, jobId }) => `${tenant}-${jobId}`, times);
    const way = { isAlive: () => true, enter: (run: () => void) => run() };
    return {
      queue: {
        add: async (task) => jobs.add([task]),
        consume: (work) => jobs.consume(way, 8, work, () => undefined),
      },
      end: async () => undefined,
    };
  },
};

describe.each(['BullMQ', 'memory'] as const)('the queue of reconciliation jobs: %s', (world) => {
  let open: Open;
  const consumers: ReconConsumer[] = [];
  beforeEach(async () => {
    open = await worlds[world]();
  });
  afterEach(async () => {
    await Promise.all(consumers.splice(0).map((consumer) => consumer.close(true)));
    await open.end();
  });

  const task = (jobId: string): ReconTask => ({ tenant: 'tn_recon', jobId });
  const noting = (fails: readonly string[] = []): string[] => {
    const names: string[] = [];
    consumers.push(
      open.queue.consume(async ({ jobId }) => {
        names.push(jobId);
        if (fails.includes(jobId)) throw new Error('it fails');
      }),
    );
    return names;
  };

  test('a task that waits is there once; one that was done may be added again', async () => {
    for (const one of ['a', 'b', 'a']) await open.queue.add(task(one));
    const names = noting();
    await until(() => names.length === 2, 'two tasks');
    expect(names.toSorted()).toEqual(['a', 'b']);
    await until(async () => {
      await open.queue.add(task('a'));
      return names.length === 3;
    }, 'the task again');
  });

  test('what work throws costs the task, and no other', async () => {
    const names = noting(['c']);
    await open.queue.add(task('c'));
    await open.queue.add(task('d'));
    await until(() => names.length === 2, 'both tasks');
    expect(names.toSorted()).toEqual(['c', 'd']);
  });

  test('a consumer has eight tasks in hand at most', async () => {
    let finish = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const begun: string[] = [];
    consumers.push(
      open.queue.consume(async ({ jobId }) => {
        begun.push(jobId);
        await gate;
      }),
    );
    for (let count = 0; count < 9; count += 1) await open.queue.add(task(`e${count}`));
    await until(() => begun.length === 8, 'eight tasks');
    const others = noting();
    await until(() => others.length === 1, 'the ninth, with another consumer');
    expect(begun).toHaveLength(8);
    finish();
  });

  test('a task whose consumer was cut is done by another when its lock ends', async () => {
    const begun: string[] = [];
    const cut = open.queue.consume(({ jobId }) => {
      begun.push(jobId);
      return new Promise(() => undefined);
    });
    await open.queue.add(task('f'));
    await until(() => begun.length === 1, 'the task of the first');
    await cut.close(true);
    const names = noting();
    await until(() => names.length === 1, 'the task of the second');
    expect(names).toEqual(['f']);
  });
});

test('in memory a task whose consumer has died may be added again when another has done it', async () => {
  const jobs = new MemoryQueue<string>(systemTimers, (id) => id, { lockMs: 20 });
  let isAlive = true;
  const dying = { isAlive: () => isAlive, enter: (run: () => void) => run() };
  jobs.consume(
    dying,
    1,
    () => new Promise(() => undefined),
    () => undefined,
  );
  jobs.add(['g']);
  isAlive = false;
  const names: string[] = [];
  const way = { isAlive: () => true, enter: (run: () => void) => run() };
  const work = async (id: string): Promise<void> => {
    names.push(id);
  };
  jobs.consume(way, 1, work, () => undefined);
  await until(() => names.length === 1, 'the task, by another');
  await until(() => {
    jobs.add(['g']);
    return names.length === 2;
  }, 'the task again');
});
