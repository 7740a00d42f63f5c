/** Runs trials at random moments of a run. They draw from streams of their own, so that the run is the same without them. */
import { Draw } from '../../simulation/cluster/draw.ts';
import type { Identities } from '../../simulation/cluster/identities.ts';
import type { NodeCopy } from '../../simulation/cluster/node-copy.ts';
import type { Checker, TrialPorts } from '../../simulation/cluster/observation.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { Contradiction, type Trial } from './trial.ts';

export interface TrialsOptions {
  /** Of the run. */
  readonly seed: string;
  readonly nodesTotal: number;
  readonly allowsDealers: boolean;
  readonly identities: () => Identities;
  /** The chance that a frame begins a trial. */
  readonly chanceAFrame?: number;
}

interface Kind {
  /** Of its streams of randomness. */
  readonly label: string;
  readonly chanceAFrame: number;
  /** Whether a frame to this address may begin one. */
  readonly beginsAt: (to: string) => boolean;
  /** Throws Contradiction. */
  readonly perform: (trial: Trial) => void;
}

export function trialChecker(options: TrialsOptions, kind: Kind): Checker {
  const { seed, nodesTotal, allowsDealers, identities, chanceAFrame = kind.chanceAFrame } = options;
  const draw = new Draw(seed, kind.label);
  const random = randomStream(seed, `${kind.label} bytes`);
  let ports: TrialPorts | undefined;
  let trials = 0;

  function perform(): string | undefined {
    trials += 1;
    const copies: NodeCopy[] = [];
    const one: Trial = {
      ...{ draw, random, nodesTotal, allowsDealers, identities: identities(), name: `trial-${trials}` },
      copyOf(nodeId) {
        const copy = ports!.nodeCopy(nodeId, random);
        copies.push(copy);
        return copy;
      },
    };
    try {
      kind.perform(one);
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
      return kind.beginsAt(observation.envelope.to) && draw.chance(chanceAFrame) ? perform() : undefined;
    },
  };
}
