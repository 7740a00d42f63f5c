/**
 * Runs random scenarios, one a seed, with every checker, and shrinks a failure to a minimal scenario that fails alike.
 *
 * The same seed, profile and cryptography give the same run, byte for byte, whatever ran before it.
 */
import { withCryptography } from '../../crypto/model/switch.ts';
import { modelCheckers } from '../../model/checkers.ts';
import { type Landmark, watchLandmarks } from '../../model/landmarks.ts';
import { type Identities, identitiesOf } from '../../sim/identities.ts';
import { allCheckers } from '../../sim/invariants/checkers.ts';
import type { CheckedScenario } from '../scenario/format.ts';
import { lifetimesOf, runSimulated } from '../scenario/simulated-world.ts';
import type { Run, Verdict } from '../scenario/world.ts';
import { randomScenario } from './generate.ts';
import type { Profile } from './profiles.ts';
import { type Shrunk, shrink } from './shrink.ts';

export interface SearchOptions {
  readonly crypto: 'model' | 'real';
  /** Whether the run's events are recorded. */
  readonly record: boolean;
  /** The seed's scenario with other faults and times (randomScenario); 0 by default. */
  readonly variation?: number | undefined;
  /** Called with each landmark (model/landmarks.ts) that the run reaches. */
  readonly reached?: ((landmark: Landmark) => void) | undefined;
}

/** One run of a scenario with every invariant checked at every event. */
export function runChecked(scenario: CheckedScenario, { crypto, record, reached }: SearchOptions): Run {
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

export function runSeed(seed: number, profile: Profile, options: SearchOptions): Run {
  return runChecked(randomScenario(seed, profile, options.variation), options);
}

/** Whether two runs failed in the same way: by the same invariant, or by the same missing outcome. */
export function failsAlike(one: Verdict, other: Verdict): boolean {
  return one.kind !== 'passed' && failureOf(one) === failureOf(other);
}

/** The kind of the failure: equal for runs that fail alike. */
export function failureOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'passed':
      return 'passed';
    case 'violated':
      return `violated ${verdict.invariant}`;
    case 'failed':
      return `failed ${withoutClient(verdict.what)}`;
    case 'stuck':
      return `stuck ${stepIn(withoutClient(verdict.what))}`;
    case 'unsupported':
      return `unsupported ${verdict.cause}`;
  }
}

/** The text does not name the client of a scenario with only one. */
function withoutClient(what: string): string {
  return what.replace(/^(step \S+) of [^\s:]+/, '$1');
}

/** For a stuck step, its last answer may differ. */
function stepIn(what: string): string {
  return /^step \S+/.exec(what)?.[0].replace(/:$/, '') ?? what;
}

/** The smallest scenario found that fails as `verdict` says. */
export function shrinkFailure(
  scenario: CheckedScenario,
  verdict: Verdict,
  options: Pick<SearchOptions, 'crypto'> & { readonly runsMax: number },
): Shrunk {
  const { crypto, runsMax } = options;
  return shrink(scenario, {
    fails: (candidate) => failsAlike(verdict, runChecked(candidate, { crypto, record: false }).verdict),
    runsMax,
  });
}
