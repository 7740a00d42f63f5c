/**
 * Trials of nodes (support/trial.ts) at random moments of a run: a few in each. The store, the clock and the identity of a copy are
 * those of its node at that moment; keys and requests are the trial's own.
 */
import type { Checker } from '../../simulation/cluster/observation.ts';
import { keyKinds } from '../support/key-transcripts.ts';
import { type TrialsOptions, trialChecker } from '../support/trial-checker.ts';
import { keyTrial } from './key-trials.ts';
import { signTrial } from './sign-trials.ts';

/** A run of some hundred frames has two or three. */
const chanceAFrame = 0.025;

export function nodeTrials(options: TrialsOptions): Checker {
  return trialChecker(options, {
    ...{ label: 'trials', chanceAFrame, beginsAt: (to) => to.startsWith('node/') },
    perform(trial) {
      const parties = keyTrial(trial, trial.draw.pick(keyKinds));
      if (parties) signTrial(trial, parties);
    },
  });
}
