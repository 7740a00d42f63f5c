/**
 * The port to the queue of tries. A job names a delivery and its number of tries; only the record holds the state of the
 * delivery. So a job may be lost (a sweep adds it again), and may run twice (the second run finds the try already made).
 */
export interface WebhookJob {
  readonly tenant: string;
  readonly webhookId: string;
  readonly deliveryId: string;
  /** Tries that were made before this one. */
  readonly tries: number;
  /** Of the event. */
  readonly sequence: number;
}

/** Whether it is a job. What another program put into the queue, or altered there, is none. */
export function isWebhookJob(data: unknown): data is WebhookJob {
  if (typeof data !== 'object' || data === null) return false;
  const { tenant, webhookId, deliveryId, tries, sequence } = data as Partial<Record<keyof WebhookJob, unknown>>;
  return (
    [tenant, webhookId, deliveryId].every((text) => typeof text === 'string') &&
    [tries, sequence].every((count) => Number.isSafeInteger(count))
  );
}

export interface WebhookQueue {
  /** An existing job does not change. */
  add(jobs: readonly WebhookJob[]): Promise<void>;
  /** Runs jobs, many at a time, until it is closed. A job whose `work` throws is lost, and so is what is no job. */
  consume(work: (job: WebhookJob) => Promise<void>): JobConsumer;
}

export interface JobConsumer {
  /**
   * Resolves when the jobs under way are done, among them one for which it asked just before; from then on it takes nothing.
   * `cut`: does not wait, another consumer does them again.
   */
  close(cut?: boolean): Promise<void>;
}
