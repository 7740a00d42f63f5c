/**
 * Trials of the coordinator's actors (support/trial.ts) at random moments of a run. Their stores and sessions are the trial's own;
 * so are the nodes, but for their stores, clocks and identities.
 */
import type { Checker } from '../../simulation/cluster/observation.ts';
import { keyKinds } from '../support/key-transcripts.ts';
import type { Trial } from '../support/trial.ts';
import { type TrialsOptions, trialChecker } from '../support/trial-checker.ts';
import { closingTrial } from './closing-trials.ts';
import { keyBeginningTrial } from './key-beginning-trials.ts';
import { keyMakingTrial } from './key-making-trials.ts';
import { nonceTrial } from './nonce-trials.ts';
import { suppliedTrial } from './supplied-trials.ts';

/** Most runs have one. */
const chanceAFrame = 0.006;

/** How often each is drawn. */
const kinds: readonly (readonly [number, (trial: Trial) => void])[] = [
  [4, (trial) => keyMakingTrial(trial, trial.draw.pick(keyKinds))],
  [2, suppliedTrial],
  [1, keyBeginningTrial],
  [2, closingTrial],
  [2, nonceTrial],
];
const drawn = kinds.flatMap(([times, trial]) => Array.from({ length: times }, () => trial));

export function keyActorTrials(options: TrialsOptions): Checker {
  return trialChecker(options, {
    ...{ label: 'coordinator trials', chanceAFrame, beginsAt: (to) => !to.startsWith('node/') },
    perform: (trial) => trial.draw.pick(drawn)(trial),
  });
}
