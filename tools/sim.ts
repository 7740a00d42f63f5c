/**
 * `signmesh sim` in a checkout: the command of cli/sim.ts, with the trials of trials/. A package has the command without them, and
 * runs every seed alike.
 */
import { run as runSim } from '../cli/sim.ts';
import { allTrials } from '../trials/all-trials.ts';

/** Resolves with an exit code. Throws a Failure for a wrong call. */
export function run(args: readonly string[]): Promise<number> {
  return runSim(args, { trials: allTrials, worker: 'tools/sim/worker.js' });
}
