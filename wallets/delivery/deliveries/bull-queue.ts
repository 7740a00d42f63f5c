/** The queue of tries in BullMQ: short jobs, forgotten when they end. */
import { type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Log } from '../../../core/actors/live/ports.ts';
import { connectRedis } from '../../../core/redis/connect.ts';
import { bullPrefix, bullQueueName } from './keys.ts';
import { isWebhookJob, type JobConsumer, type WebhookJob, type WebhookQueue } from './queue.ts';

export interface ConsumerOptions {
  /** Tries that one worker makes at a time. Far above the window of one webhook. */
  readonly concurrency: number;
  /** After this time without a sign of its worker, another worker may take over a job. */
  readonly lockMs: number;
  readonly stalledEveryMs: number;
}

const consumerDefaults: ConsumerOptions = { concurrency: 1_024, lockMs: 10_000, stalledEveryMs: 5_000 };

const jobName = 'deliver';
/** BullMQ keeps a stream of its events; no code reads it. */
const eventsKept = 1_000;

/** A connection as BullMQ needs it: commands wait while Redis is unreachable. */
export function openQueueRedis(url: string): Redis {
  const redis = connectRedis(url, {
    isPatient: true,
    connectTimeout: 5_000,
    retryStrategy: (attempt) => Math.min(1_000, 50 * 2 ** Math.min(attempt, 10)),
  });
  // The process's other connection logs that Redis is unreachable.
  redis.on('error', () => undefined);
  return redis;
}

export interface BullQueueOptions {
  /** From `openQueueRedis`. */
  readonly redis: Redis;
  readonly consumer?: Partial<ConsumerOptions>;
  readonly log: Log;
}

export class BullQueue implements WebhookQueue {
  readonly #queue: Queue<WebhookJob>;
  readonly #options: BullQueueOptions;

  constructor(options: BullQueueOptions) {
    this.#options = options;
    this.#queue = new Queue<WebhookJob>(bullQueueName, {
      connection: options.redis,
      prefix: bullPrefix,
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      streams: { events: { maxLen: eventsKept } },
    });
    this.#queue.on('error', () => undefined);
  }

  async add(jobs: readonly WebhookJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#queue.addBulk(
      jobs.map((data) => ({ name: jobName, data, opts: { jobId: `${data.deliveryId}-${data.tries}` } })),
    );
  }

  /** Jobs by state. */
  counts(): Promise<Readonly<Record<string, number>>> {
    return this.#queue.getJobCounts('waiting', 'active', 'delayed');
  }

  consume(work: (job: WebhookJob) => Promise<void>): JobConsumer {
    const { redis, consumer, log } = this.#options;
    const { concurrency, lockMs, stalledEveryMs } = { ...consumerDefaults, ...consumer };
    const run = async ({ data }: Job<unknown>): Promise<void> => {
      // BullMQ repeats a job as often as the job says; this error ends it.
      if (!isWebhookJob(data)) throw new UnrecoverableError('it is no delivery');
      return work(data);
    };
    const worker = new Worker<unknown>(bullQueueName, run, {
      connection: redis,
      prefix: bullPrefix,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: stalledEveryMs,
      // Deaths of workers never make a delivery fail.
      maxStalledCount: 1_000_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', (error) => log.debug({ reason: error.message }, 'BullMQ has trouble'));
    worker.on('failed', (job, { message: reason }) => {
      if (job === undefined || !isWebhookJob(job.data)) {
        log.warn({ job: job?.id, reason }, 'the queue held a malformed job; it was dropped');
      } else {
        const { deliveryId: delivery } = job.data;
        log.warn({ delivery, reason }, 'a delivery attempt failed before it was sent; it is retried later');
      }
    });
    worker.on('stalled', (jobId) => log.info({ job: jobId }, 'a worker has died; its delivery is retried'));
    return worker;
  }
}
