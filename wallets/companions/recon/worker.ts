/** The runner of reconciliation jobs in a worker process. Any number of them run over one store and one queue. */
import { withinLimit } from '../../../core/actors/waiting.ts';
import type { ReconQueue } from './queue.ts';
import { JobRunner, type RunnerDeps } from './runner.ts';

export interface ReconWorker {
  /** Takes no new tasks and lets runs write their results; another worker continues them. */
  stop(): Promise<void>;
}

const drainMs = 3_000;
const cutMs = 250;

export function startReconWorker(deps: RunnerDeps, queue: ReconQueue): ReconWorker {
  const runner = new JobRunner(deps);
  let isStopping = false;
  const consumer = queue.consume(({ tenant, jobId }) => runner.run(tenant, jobId, () => isStopping));
  return {
    stop: async () => {
      isStopping = true;
      await withinLimit(deps.timers, drainMs, consumer.close(), () => undefined);
      const cut = consumer.close(true).catch(() => undefined);
      await withinLimit(deps.timers, cutMs, cut, () => undefined);
    },
  };
}
