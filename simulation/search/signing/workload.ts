/** The search of the signing cluster: random scenarios, one a seed, with every checker. */
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import type { CheckedScenario } from '../../../scenarios/runner/format.ts';
import { lifetimesOf, runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { toYaml } from '../../../scenarios/runner/to-yaml.ts';
import type { Run } from '../../../scenarios/runner/world.ts';
import { type Identities, identitiesOf } from '../../cluster/identities.ts';
import { allCheckers } from '../../cluster/invariants/checkers.ts';
import { modelCheckers } from '../../model/checkers.ts';
import { type Landmark, landmarks, watchLandmarks } from '../../model/landmarks.ts';
import { type Profile, profiles } from '../profiles.ts';
import { sizeOf, smallerScenarios } from '../smaller-scenarios.ts';
import type { SearchRunOptions, Workload } from '../workload.ts';
import { randomScenario } from './generate.ts';

export interface CheckedOptions extends SearchRunOptions {
  /** Called with each landmark (simulation/model/landmarks.ts) that the run reaches. */
  readonly reached?: ((landmark: Landmark) => void) | undefined;
}

/** One run of a scenario with every invariant checked at every event. */
export function runChecked(scenario: CheckedScenario, { crypto, record, reached }: CheckedOptions): Run {
  const {
    nodes,
    seed,
    nodes_wait_ms: nodesWaitMs,
    partial_timeout_ms: partialTimeoutMs,
    client_dealers,
  } = scenario.cluster;
  const lifetimesMs = lifetimesOf(scenario.cluster);
  const { calls_waiting: callsWaitingMax = 256, link_news_ms: linkNewsMs = 0, mailbox } = scenario.cluster;
  const waiting = { callsWaitingMax, hasSmallMailboxes: mailbox !== undefined };
  let known: Identities | undefined;
  const identities = () => {
    known ??= identitiesOf({ seed, nodes });
    return known;
  };
  const cluster = { nodesTotal: nodes, identities };
  const model = { ...cluster, nodesWaitMs, partialTimeoutMs, lifetimesMs, linkNewsMs, ...waiting };
  return withCryptography(crypto, () => {
    try {
      return runSimulated(scenario, {
        crypto,
        record,
        checkers: [
          ...allCheckers({ delivers: true, consents: () => client_dealers }),
          ...modelCheckers(model),
          ...(reached ? [watchLandmarks(reached)] : []),
        ],
        passesOver: true,
        stopsAtViolation: true,
      });
    } catch (error) {
      return thrown(scenario, error);
    }
  });
}

/** A run that the engine of faults, a checker or the world itself ended: the search names its seed and shrinks it, too. */
function thrown({ scenario, about, cluster: { seed, nodes } }: CheckedScenario, error: unknown): Run {
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const verdict = { kind: 'violated', invariant: 'no-bugs', cause } as const;
  return { scenario, about, world: 'simulated', seed, nodes, verdict, tookMs: 0, replay: '', events: [] };
}

export function runSeed(seed: number, profile: Profile, options: CheckedOptions): Run {
  return runChecked(randomScenario(seed, profile), options);
}

export const signing: Workload<CheckedScenario> = {
  profiles,
  landmarks: Object.fromEntries(landmarks.map((landmark) => [landmark, []])),
  steps: [],
  outcomes: () => [],
  round: { fresh: 900, variants: 180, block: 32 },
  shrinkRunsMax: Number.POSITIVE_INFINITY,
  // The last turn names other faults, constants and times; the clients of a seed stay.
  plan: ({ seed, profile, variant }) => randomScenario(seed, profile, variant.turns.at(-1)?.salt),
  async run(scenario, options) {
    const reached: Landmark[] = [];
    const { verdict, tookMs, events } = runChecked(scenario, {
      ...options,
      reached: (landmark) => void reached.push(landmark),
    });
    return { verdict, tookMs, landmarks: reached, trace: events };
  },
  reductions: smallerScenarios,
  size: sizeOf,
  file: (scenario) => ({
    name: `${scenario.scenario}.yaml`,
    text: toYaml(scenario),
    again: (path) => `scenario run ${path}`,
  }),
};
