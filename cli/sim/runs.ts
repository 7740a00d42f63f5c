/** Many seeds, one after the other or in several threads. The results do not depend on the number of threads. */
import { Worker } from 'node:worker_threads';
import type { Landmark } from '../../model/landmarks.ts';
import type { Verdict } from '../../runner/scenario/world.ts';
import { runSeed } from '../../runner/search/campaign.ts';
import type { Profile } from '../../runner/search/profiles.ts';
import type { Variant } from '../../wallet-search/guide.ts';
import { builtFile } from '../common/built.ts';

/** `signing`: the signing cluster and its five calls. `wallets`: the control plane over it. */
export const worlds = ['signing', 'wallets'] as const;
export type WorldName = (typeof worlds)[number];

/** Profiles that the search of the control plane has. */
export const walletProfiles = ['calm', 'stormy', 'hostile'] as const;

/** Throws for a profile that the search lacks. */
export function walletProfile(profile: Profile): (typeof walletProfiles)[number] {
  const found = walletProfiles.find((one) => one === profile);
  if (found === undefined) throw new Error(`the search of the control plane has no profile ${profile}`);
  return found;
}

export interface SeedTask {
  readonly world: WorldName;
  readonly seed: number;
  readonly profile: Profile;
  /** Of the signing world: the seed's scenario with other faults and times; 0 by default. */
  readonly variation?: number;
  /** The differences of a run of wallets from the draws of its seed. */
  readonly variant?: Variant;
}

/** A finished run. */
export interface Finished extends SeedTask {
  readonly verdict: Verdict;
  /** Virtual time. */
  readonly tookMs: number;
  /** The landmarks that the run reached (model/landmarks.ts, wallet-search/landmarks.ts). */
  readonly landmarks: readonly string[];
}

export interface RunAllOptions {
  readonly crypto: 'model' | 'real';
  /** Threads. */
  readonly jobs: number;
  /** Called with every run, in the order of the tasks; false stops the search. */
  readonly finished: (one: Finished) => boolean;
}

/** Tasks that a thread gets at once. */
const batchTasks = 8;

export async function runOne(task: SeedTask, crypto: 'model' | 'real'): Promise<Finished> {
  const { world, seed, profile, variation, variant } = task;
  if (world === 'wallets') {
    // Loads the control plane only when needed.
    const { runWorldSeed } = await import('../../wallet-search/campaign.ts');
    const run = await runWorldSeed(seed, walletProfile(profile), { crypto, record: false }, variant);
    const { verdict, tookMs, landmarks } = run;
    return { world, seed, profile, ...(variant && { variant }), verdict, tookMs, landmarks };
  }
  const landmarks: Landmark[] = [];
  const reached = (landmark: Landmark) => void landmarks.push(landmark);
  const { verdict, tookMs } = runSeed(seed, profile, { crypto, record: false, variation, reached });
  return { ...task, verdict, tookMs, landmarks };
}

/** Resolves when all are over, or the caller stopped it; gives whether all are. */
export async function runAll(tasks: readonly SeedTask[], options: RunAllOptions): Promise<boolean> {
  if (options.jobs > 1) return inThreads(tasks, options);
  for (const task of tasks) {
    if (!options.finished(await runOne(task, options.crypto))) return false;
    // Lets the terminal output and an interruption run.
    await new Promise(setImmediate);
  }
  return true;
}

async function inThreads(tasks: readonly SeedTask[], { crypto, jobs, finished }: RunAllOptions): Promise<boolean> {
  const done = new Map<number, Finished>();
  let nextTask = 0;
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
      const worker = new Worker(builtFile('cli/sim/worker.js'), { workerData: { crypto }, execArgv: [] });
      let from = 0;
      const give = () => {
        if (isOver || nextTask >= tasks.length) {
          worker.postMessage(undefined);
          return;
        }
        from = nextTask;
        nextTask = Math.min(tasks.length, nextTask + batchTasks);
        worker.postMessage(tasks.slice(from, nextTask));
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
  await Promise.all(Array.from({ length: Math.min(jobs, tasks.length) }, thread));
  return !isOver;
}
