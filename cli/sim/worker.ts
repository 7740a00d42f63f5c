/** A thread of `signmesh sim --jobs`: it runs the seeds that it gets, until it gets none. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Finished, runOne, type SeedTask } from './runs.ts';

const { crypto } = workerData as { readonly crypto: 'model' | 'real' };

parentPort?.on('message', (tasks: readonly SeedTask[] | undefined) => {
  if (tasks === undefined) parentPort?.close();
  else void batch(tasks);
});

/** One after the other: two simultaneous runs would share the choice of cryptography. */
async function batch(tasks: readonly SeedTask[]): Promise<void> {
  const done: Finished[] = [];
  for (const task of tasks) done.push(await runOne(task, crypto));
  parentPort?.postMessage(done);
}
