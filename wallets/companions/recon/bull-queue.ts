/** The queue of reconciliation jobs by BullMQ. When a worker dies, another takes over its task after the lock ends. */
import { type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Log } from '../../../core/actors/live/ports.ts';
import { asking } from '../../store/asking-redis.ts';
import { isReconTask, type ReconConsumer, type ReconQueue, type ReconTask } from './queue.ts';

export interface ReconConsumerOptions {
  /** Jobs that one worker runs at a time, of all tenants. */
  readonly concurrency: number;
  /** Another worker may run a job whose worker is silent for this long. */
  readonly lockMs: number;
  readonly stalledEveryMs: number;
}

const consumerDefaults: ReconConsumerOptions = { concurrency: 8, lockMs: 10_000, stalledEveryMs: 5_000 };

/** Shared by all keys of the queue, which must be in one slot. */
const prefix = '{sm-recon}';
const queueName = 'recon';
/** BullMQ keeps a stream of its events; no code reads it. */
const eventsKept = 1_000;

export interface BullReconOptions {
  /** Consuming requires a connection whose commands wait while Redis is unreachable. */
  readonly redis: Redis;
  readonly log: Log;
  readonly consumer?: Partial<ReconConsumerOptions>;
}

export class BullReconQueue implements ReconQueue {
  readonly #options: BullReconOptions;
  #queue: Queue<ReconTask> | undefined;

  constructor(options: BullReconOptions) {
    this.#options = options;
  }

  async add(task: ReconTask): Promise<void> {
    await asking(this.#opened().add('run', task, { jobId: `${task.tenant}-${task.jobId}` }));
  }

  consume(work: (task: ReconTask) => Promise<void>): ReconConsumer {
    const { redis: connection, log, consumer } = this.#options;
    const { concurrency, lockMs, stalledEveryMs } = { ...consumerDefaults, ...consumer };
    const run = async ({ data }: Job<unknown>): Promise<void> => {
      // BullMQ repeats a job as often as the job says; this error ends it.
      if (!isReconTask(data)) throw new UnrecoverableError('it is no reconciliation');
      return work(data);
    };
    const worker = new Worker<unknown>(queueName, run, {
      ...{ connection, prefix, concurrency, lockDuration: lockMs, stalledInterval: stalledEveryMs },
      // The queue never fails a job because its workers die.
      maxStalledCount: 1_000_000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', (error) => log.debug({ reason: error.message }, 'BullMQ has trouble'));
    worker.on('failed', (job, { message: reason }) => {
      if (job === undefined || !isReconTask(job.data)) {
        log.warn({ job: job?.id, reason }, 'the queue held a malformed job; it was dropped');
      } else log.warn({ job: job.data.jobId, reason }, 'a reconciliation was interrupted; it continues later');
    });
    worker.on('stalled', (id) => log.info({ job: id }, 'a worker has died; its reconciliation continues'));
    return { close: (cut) => worker.close(cut) };
  }

  /** Only a gateway that has a job to dispatch opens it. */
  #opened(): Queue<ReconTask> {
    if (this.#queue === undefined) {
      this.#queue = new Queue<ReconTask>(queueName, {
        ...{ connection: this.#options.redis, prefix, streams: { events: { maxLen: eventsKept } } },
        defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      });
      this.#queue.on('error', () => undefined);
    }
    return this.#queue;
  }
}
