/** Faults of the queue of webhook deliveries, through BullMQ itself. It connects only during a fault. */
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { connectRedis } from '../../core/redis/connect.ts';
import type { QueueControl } from '../../scenarios/injection/ports.ts';
import { bullPrefix, bullQueueName } from '../../wallets/delivery/deliveries/public.ts';

const options = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

export function queueFaults(redisUrl: string): QueueControl {
  const withQueue = async (work: (queue: Queue) => Promise<void>): Promise<void> => {
    const connection = connectRedis(redisUrl, { isPatient: true, connectTimeout: 5000 });
    connection.on('error', () => undefined);
    const queue = new Queue(bullQueueName, { connection, prefix: bullPrefix });
    queue.on('error', () => undefined);
    try {
      await work(queue);
    } finally {
      await queue.close();
      connection.disconnect();
    }
  };
  return {
    doubleDelivery: () =>
      withQueue(async (queue) => {
        const [newest] = await queue.getJobs(['wait', 'active', 'delayed', 'prioritized'], 0, 0, false);
        if (newest === undefined) return;
        await queue.add(newest.name, newest.data, { ...options, jobId: `twice-${randomUUID()}` });
      }),
    poisonJob: () =>
      withQueue(async (queue) => {
        await queue.add('deliver', { poison: true }, { ...options, jobId: `poison-${randomUUID()}` });
      }),
  };
}
