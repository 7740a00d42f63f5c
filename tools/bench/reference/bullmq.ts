/** The reference for deliveries: a bare BullMQ queue, empty jobs added and processed in one process. */
import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { cpuSeconds, type Pids } from '../../../clients/load/measure/processes.ts';

export interface BullmqRate {
  readonly jobs: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** CPU milliseconds of this process and Redis for one job, added and processed. */
  readonly cpuMsEach: number;
}

const concurrency = 64;

/** Adds jobs one after the other, `concurrency` of them in progress, until the time is over; then waits for the rest. */
export async function bullmqRate(redisUrl: string, countMs: number, { redis }: Pids): Promise<BullmqRate> {
  const name = `bench-${randomUUID().slice(0, 8)}`;
  const open = () => new Redis(redisUrl, { maxRetriesPerRequest: null });
  const connections = [open(), open()];
  const prefix = '{sm-bench}';
  const queue = new Queue(name, { connection: connections[0]!, prefix });
  const worker = new Worker(name, async () => undefined, {
    connection: connections[1]!,
    prefix,
    concurrency,
    removeOnComplete: { count: 0 },
  });
  let added = 0;
  let done = 0;
  worker.on('completed', () => {
    done += 1;
  });
  try {
    const used = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000 + 1000 * (cpuSeconds({ redis: redis! }).redis ?? 0);
    };
    const [beganMs, before] = [performance.now(), used()];
    const adder = async () => {
      while (performance.now() - beganMs < countMs) {
        added += 1;
        await queue.add('job', { tenant: 'tn', webhookId: 'whk', deliveryId: String(added) });
      }
    };
    await Promise.all(Array.from({ length: concurrency }, adder));
    while (done < added) await new Promise((resolve) => setTimeout(resolve, 5));
    const seconds = (performance.now() - beganMs) / 1000;
    return { jobs: done, seconds, perSecond: done / seconds, cpuMsEach: (used() - before) / done };
  } finally {
    await worker.close();
    await queue.obliterate({ force: true });
    await queue.close();
    for (const connection of connections) connection.disconnect();
  }
}
