/** The trials of a random run: of nodes, of the coordinator's actors that make and end keys, and of its signing sessions. */
import type { Checker } from '../simulation/cluster/observation.ts';
import { keyActorTrials } from './key-actors/key-actor-trials.ts';
import { nodeTrials } from './nodes/node-trials.ts';
import { sessionTrials } from './sessions/session-trials.ts';
import type { TrialsOptions } from './support/trial-checker.ts';

/** New checkers for one run. */
export function allTrials(options: TrialsOptions): Checker[] {
  return [nodeTrials(options), sessionTrials(options), keyActorTrials(options)];
}
