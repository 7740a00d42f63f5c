/** Many seeds, one after the other or in several threads. The results do not depend on the number of threads. */
import { Worker } from 'node:worker_threads';
import type { Finished } from '../../simulation/search/campaign.ts';
import type { SeedRun } from '../../simulation/search/guide.ts';
import { signing } from '../../simulation/search/signing/workload.ts';
import type { Workload } from '../../simulation/search/workload.ts';
import { builtFile } from '../common/built.ts';

/** `signing`: the signing cluster and its five calls. `wallets`: the control plane over it. */
export const worlds = ['signing', 'wallets'] as const;
export type WorldName = (typeof worlds)[number];

export async function workloadOf(world: WorldName): Promise<Workload<unknown>> {
  // Loads the control plane only when needed.
  return world === 'signing' ? signing : (await import('../../simulation/search/wallets/workload.ts')).wallets;
}

export interface RunAllOptions {
  readonly world: WorldName;
  readonly crypto: 'model' | 'real';
  /** Threads. */
  readonly jobs: number;
}

/** Runs that a thread gets at once. */
const batchRuns = 8;

export async function runOne(run: SeedRun, { world, crypto }: Omit<RunAllOptions, 'jobs'>): Promise<Finished> {
  const workload = await workloadOf(world);
  const { trace: _, ...ended } = await workload.run(workload.plan(run), { crypto, record: false });
  return { ...run, ...ended };
}

/** `finished` gets every run in their order; false stops them. Resolves with whether all are over. */
export async function runAll(
  runs: readonly SeedRun[],
  options: RunAllOptions,
  finished: (one: Finished) => boolean,
): Promise<boolean> {
  if (options.jobs > 1) return inThreads(runs, options, finished);
  for (const run of runs) {
    if (!finished(await runOne(run, options))) return false;
    // Lets the terminal output and an interruption run.
    await new Promise(setImmediate);
  }
  return true;
}

async function inThreads(
  runs: readonly SeedRun[],
  { world, crypto, jobs }: RunAllOptions,
  finished: (one: Finished) => boolean,
): Promise<boolean> {
  const done = new Map<number, Finished>();
  let nextRun = 0;
  let nextTold = 0;
  let isOver = false;
  const tell = () => {
    for (let one = done.get(nextTold); one !== undefined && !isOver; one = done.get(nextTold)) {
      done.delete(nextTold);
      nextTold += 1;
      if (!finished(one)) isOver = true;
    }
  };
  const thread = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(builtFile('cli/sim/worker.js'), { workerData: { world, crypto }, execArgv: [] });
      let from = 0;
      const give = () => {
        if (isOver || nextRun >= runs.length) {
          worker.postMessage(undefined);
          return;
        }
        from = nextRun;
        nextRun = Math.min(runs.length, nextRun + batchRuns);
        worker.postMessage(runs.slice(from, nextRun));
      };
      worker.on('message', (batch: readonly Finished[]) => {
        for (const [index, one] of batch.entries()) done.set(from + index, one);
        tell();
        give();
      });
      worker.on('error', reject);
      worker.on('exit', () => resolve());
      give();
    });
  await Promise.all(Array.from({ length: Math.min(jobs, runs.length) }, thread));
  return !isOver;
}
