/** A thread of `signmesh sim --jobs` in a checkout. */
import { runTasks } from '../../cli/sim/public.ts';
import { allTrials } from '../../trials/all-trials.ts';

runTasks(allTrials);
