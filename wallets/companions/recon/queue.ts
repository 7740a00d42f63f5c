/**
 * The port to the queue of reconciliation jobs. A task only names a job: the job's record holds its state. So a task may be
 * lost (due work adds it again) or duplicated (the second run loses its first change).
 */
export interface ReconTask {
  readonly tenant: string;
  readonly jobId: string;
}

/** Whether it is a task. What another program put into the queue, or altered there, is none. */
export function isReconTask(data: unknown): data is ReconTask {
  if (typeof data !== 'object' || data === null) return false;
  const { tenant, jobId } = data as Partial<Record<keyof ReconTask, unknown>>;
  return typeof tenant === 'string' && typeof jobId === 'string';
}

export interface ReconQueue {
  /** A task that is already queued stays unchanged. Throws StoreUnavailable. */
  add(task: ReconTask): Promise<void>;
  /**
   * Runs tasks until closed; an error of `work` drops the task, and what is no task is dropped. If a worker dies, another runs its task.
   */
  consume(work: (task: ReconTask) => Promise<void>): ReconConsumer;
}

export interface ReconConsumer {
  /** Takes no new tasks and waits for running ones. `cut`: does not wait. */
  close(cut?: boolean): Promise<void>;
}
