/**
 * The port to the queue of reconciliation jobs. A task names a job, and nothing else: what is true of the job stands in
 * its record. So a task may be lost (due work adds it again) and may be there twice (the second run loses its first
 * change).
 */
export interface ReconTask {
  readonly tenant: string;
  readonly jobId: string;
}

export interface ReconQueue {
  /** One that is there already stays as it is. Throws StoreUnavailable. */
  add(task: ReconTask): Promise<void>;
  /**
   * Does tasks until it is closed; what `work` throws costs the task. A task whose worker has died is done by another.
   */
  consume(work: (task: ReconTask) => Promise<void>): ReconConsumer;
}

export interface ReconConsumer {
  /** Takes on no more and waits for what is in hand. `cut`: does not wait. */
  close(cut?: boolean): Promise<void>;
}
