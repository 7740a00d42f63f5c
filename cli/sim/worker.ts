/** A thread of `signmesh sim --jobs`: it runs the seeds that it gets, until it gets none. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Finished } from '../../simulation/search/campaign.ts';
import type { SeedRun } from '../../simulation/search/guide.ts';
import { type RunAllOptions, runOne } from './runs.ts';

const options = workerData as Omit<RunAllOptions, 'jobs'>;

parentPort?.on('message', (runs: readonly SeedRun[] | undefined) => {
  if (runs === undefined) parentPort?.close();
  else void batch(runs);
});

/** One after the other: two simultaneous runs would share the choice of cryptography. */
async function batch(runs: readonly SeedRun[]): Promise<void> {
  const done: Finished[] = [];
  for (const run of runs) done.push(await runOne(run, options));
  parentPort?.postMessage(done);
}
