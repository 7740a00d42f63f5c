/** A thread of `signmesh sim --jobs`: runs the seeds that it is given, until it is given none. */
import { parentPort, workerData } from 'node:worker_threads';
import { runOne, type SeedTask } from './runs.ts';

const { crypto } = workerData as { readonly crypto: 'model' | 'real' };

parentPort?.on('message', (tasks: readonly SeedTask[] | undefined) => {
  if (tasks === undefined) parentPort?.close();
  else parentPort?.postMessage(tasks.map((task) => runOne(task, crypto)));
});
