/** The work of a thread of `signmesh sim --jobs`. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Trials } from '../../simulation/search/campaign.ts';
import { type Finished, runOne, type SeedTask } from './runs.ts';

/** Runs the seeds that it gets, until it gets none. */
export function runTasks(trials: Trials): void {
  const { crypto } = workerData as { readonly crypto: 'model' | 'real' };
  parentPort?.on('message', (tasks: readonly SeedTask[] | undefined) => {
    if (tasks === undefined) parentPort?.close();
    else void batch(tasks, crypto, trials);
  });
}

/** One after the other: two simultaneous runs would share the choice of cryptography. */
async function batch(tasks: readonly SeedTask[], crypto: 'model' | 'real', trials: Trials): Promise<void> {
  const done: Finished[] = [];
  for (const task of tasks) done.push(await runOne(task, crypto, trials));
  parentPort?.postMessage(done);
}
