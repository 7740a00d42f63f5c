/**
 * Trials of nodes (trial.ts) at random moments of a run: a few in each. The store, the clock and the identity of a copy are those of
 * its node at that moment; keys and requests are the trial's own.
 */
import { Draw } from '../../sim/draw.ts';
import type { Identities } from '../../sim/identities.ts';
import type { NodeCopy } from '../../sim/node-copy.ts';
import type { Checker, TrialPorts } from '../../sim/observation.ts';
import { randomStream } from '../../sim/random.ts';
import { keyKinds } from './key-parties.ts';
import { keyTrial } from './key-trials.ts';
import { signTrial } from './sign-trials.ts';
import { Contradiction, type Trial } from './trial.ts';

export interface NodeTrialsOptions {
  /** Of the run. */
  readonly seed: string;
  readonly nodesTotal: number;
  readonly allowsDealers: boolean;
  readonly identities: () => Identities;
  /** The chance that a frame to a node begins a trial; by default a run of some hundred frames has two or three. */
  readonly chanceAFrame?: number;
}

export function nodeTrials(options: NodeTrialsOptions): Checker {
  const { seed, nodesTotal, allowsDealers, identities, chanceAFrame = 0.025 } = options;
  const draw = new Draw(seed, 'trials');
  const random = randomStream(seed, 'trial bytes');
  let ports: TrialPorts | undefined;
  let trials = 0;

  function trial(): string | undefined {
    trials += 1;
    const copies: NodeCopy[] = [];
    const one: Trial = {
      ...{ draw, nodesTotal, allowsDealers, identities: identities(), name: `trial-${trials}` },
      copyOf(nodeId) {
        const copy = ports!.nodeCopy(nodeId, random);
        copies.push(copy);
        return copy;
      },
    };
    try {
      const parties = keyTrial(one, draw.pick(keyKinds));
      if (parties) signTrial(one, parties);
    } catch (error) {
      if (error instanceof Contradiction) return error.message;
      throw error;
    }
    const bug = copies.find(({ bugs }) => bugs.length > 0);
    return bug && `node ${bug.nodeId} threw: ${bug.bugs.join('; ')}`;
  }

  return {
    invariant: 'trial-as-modelled',
    began(given) {
      ports = given;
    },
    observe(observation) {
      if (observation.kind !== 'frame' || ports === undefined) return undefined;
      const { to } = observation.envelope;
      return to.startsWith('node/') && draw.chance(chanceAFrame) ? trial() : undefined;
    },
  };
}
