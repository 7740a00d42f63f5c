/**
 * BullMQ, as webhooks use it: one queue, short jobs. A job says which delivery is to be tried and after how many tries;
 * what is true of the delivery stands in its record alone. So a job may be lost (a sweep adds it again), may be there
 * twice (the second one finds the try made), and is forgotten when it ends.
 */
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Log } from '../../actors/live/ports.ts';
import { bullPrefix, bullQueueName } from './keys.ts';

export interface WebhookJob {
  readonly tenant: string;
  readonly webhookId: string;
  readonly deliveryId: string;
  /** Tries that were made before this one. */
  readonly tries: number;
  /** Of the event. */
  readonly sequence: number;
}

export interface ConsumerOptions {
  /** Tries that one worker makes at a time. Far above the window of one webhook. */
  readonly concurrency: number;
  /** A job whose worker has not been heard of for so long may be done by another. */
  readonly lockMs: number;
  readonly stalledEveryMs: number;
}

export const consumerDefaults: ConsumerOptions = { concurrency: 1_024, lockMs: 10_000, stalledEveryMs: 5_000 };

const jobName = 'deliver';
/** BullMQ keeps a stream of its events; no code reads it. */
const eventsKept = 1_000;

/** A connection as BullMQ needs it: commands wait while Redis is unreachable. */
export function openQueueRedis(url: string): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    connectTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(1_000, 50 * 2 ** Math.min(attempt, 10)),
  });
  // The process's other connection logs that Redis is unreachable.
  redis.on('error', () => undefined);
  return redis;
}

export class WebhookQueue {
  readonly #queue: Queue<WebhookJob>;

  constructor(connection: Redis) {
    this.#queue = new Queue<WebhookJob>(bullQueueName, {
      connection,
      prefix: bullPrefix,
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      streams: { events: { maxLen: eventsKept } },
    });
    this.#queue.on('error', () => undefined);
  }

  /** A job that is there already stays as it is. */
  async add(jobs: readonly WebhookJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#queue.addBulk(
      jobs.map((data) => ({ name: jobName, data, opts: { jobId: `${data.deliveryId}-${data.tries}` } })),
    );
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

/** Does jobs until it is closed. What `work` throws costs the job: the delivery is swept up later. */
export function startConsumer(
  connection: Redis,
  work: (job: WebhookJob) => Promise<void>,
  { concurrency, lockMs, stalledEveryMs }: ConsumerOptions,
  log: Log,
): Worker<WebhookJob> {
  const worker = new Worker<WebhookJob>(bullQueueName, async (job) => work(job.data), {
    connection,
    prefix: bullPrefix,
    concurrency,
    lockDuration: lockMs,
    stalledInterval: stalledEveryMs,
    // However often its workers die, a delivery is not given up for that.
    maxStalledCount: 1_000_000,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('error', (error) => log.debug({ reason: error.message }, 'BullMQ has trouble'));
  worker.on('failed', (job, error) => {
    log.warn({ delivery: job?.data.deliveryId, reason: error.message }, 'a try could not be made; it is made later');
  });
  worker.on('stalled', (jobId) => log.info({ job: jobId }, 'a worker has gone; its delivery is made again'));
  return worker;
}
