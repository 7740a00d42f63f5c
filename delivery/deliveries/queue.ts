/**
 * The port to the queue of tries. A job says which delivery is to be tried and after how many tries; what is true of the
 * delivery stands in its record alone. So a job may be lost (a sweep adds it again), and may be done twice (the second one
 * finds the try made).
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

export interface WebhookQueue {
  /** A job that is there already stays as it is. */
  add(jobs: readonly WebhookJob[]): Promise<void>;
  /** Does jobs, many at a time, until it is closed. What `work` throws costs the job. */
  consume(work: (job: WebhookJob) => Promise<void>): JobConsumer;
}

export interface JobConsumer {
  /**
   * Resolves when the jobs under way are done, among them one for which it asked just before; from then on it takes nothing.
   * `cut`: does not wait, another consumer does them again.
   */
  close(cut?: boolean): Promise<void>;
}
