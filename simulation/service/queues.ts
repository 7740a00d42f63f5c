/** The queues of a simulated world for its processes. A queue is in Redis: while Redis is unreachable, it waits. */
import type { Timers } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import type { ReconQueue, ReconTask } from '../../wallets/companions/recon/public.ts';
import type { WebhookJob, WebhookQueue } from '../../wallets/delivery/deliveries/public.ts';
import { MemoryQueue } from './memory-queue.ts';
import type { ProcessLife } from './process-life.ts';
import type { SimRedis } from './redis-side.ts';

/** As in the live consumers (wallets/delivery/deliveries/bull-queue.ts, wallets/companions/recon/bull-queue.ts). */
const webhookPlaces = 1_024;
const reconPlaces = 8;
const wayMs = 1;
/** A lost answer breaks the command's connection; the client of BullMQ repeats the command on the next one. */
const reconnectMs = 1_000;

export class Queues {
  readonly webhooks: MemoryQueue<WebhookJob>;
  readonly recon: MemoryQueue<ReconTask>;

  /** `timers`: of the world, not of a process. */
  constructor(timers: Pick<Timers, 'start'>) {
    this.webhooks = new MemoryQueue(timers, ({ deliveryId, tries }) => `${deliveryId}-${tries}`);
    this.recon = new MemoryQueue(timers, ({ tenant, jobId }) => `${tenant}-${jobId}`);
  }
}

export function webhookQueueOf({ webhooks }: Queues, life: ProcessLife, redis: SimRedis, log: Log): WebhookQueue {
  const onFailed = ({ deliveryId }: WebhookJob, error: unknown) =>
    log.warn({ delivery: deliveryId, reason: textOf(error) }, 'a delivery attempt failed before it was sent');
  return {
    add: (jobs) => (jobs.length === 0 ? Promise.resolve() : added(life, redis, 'webhooks', () => webhooks.add(jobs))),
    consume: (work) => webhooks.consume(wayOf(life), webhookPlaces, work, onFailed),
  };
}

export function reconQueueOf({ recon }: Queues, life: ProcessLife, redis: SimRedis, log: Log): ReconQueue {
  const onFailed = ({ jobId }: ReconTask, error: unknown) =>
    log.warn({ job: jobId, reason: textOf(error) }, 'a reconciliation was interrupted; it continues later');
  return {
    add: (task) => added(life, redis, 'recon', () => recon.add([task])),
    consume: (work) => recon.consume(wayOf(life), reconPlaces, work, onFailed),
  };
}

function wayOf(life: ProcessLife) {
  return { isAlive: () => life.isAlive, enter: (run: () => void) => life.enter(run) };
}

function added(life: ProcessLife, redis: SimRedis, queue: string, add: () => void): Promise<void> {
  return life.call('queue', queue, ({ fate, delayMs = 0 }, answer) => {
    const answered = () => answer(() => undefined);
    const again = () =>
      redis.after(reconnectMs, () => {
        add();
        redis.after(wayMs, answered);
      });
    if (fate === 'lost') {
      again();
      return;
    }
    redis.after(wayMs + delayMs, () => {
      if (fate === 'refused') {
        answer(() => {
          throw new Error("OOM command not allowed when used memory > 'maxmemory'.");
        });
        return;
      }
      add();
      if (fate === 'unanswered') again();
      else redis.after(wayMs, answered);
    });
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
