/**
 * The simulated world of a scenario: a whole cluster in virtual time. The same scenario and seed give the same run, byte
 * for byte.
 */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../cluster.ts';
import type { Checker } from '../observation.ts';
import type { CheckedScenario } from './format.ts';
import { type RunOptions, runScenario } from './run.ts';
import type { QuestionName, Questions, Run, ScenarioWorld, SessionFacts, Verdict } from './world.ts';

const tenant = 'tn_sim';
/** A client gives a call up after so long. */
const patienceMs = 30_000;

export interface SimulatedOptions extends RunOptions {
  /** Instead of the scenario's. */
  readonly seed?: string;
  /** Real curves by default. */
  readonly crypto?: 'real' | 'model';
  /** Whether what is seen is kept for reports; true by default. */
  readonly record?: boolean;
  readonly checkers?: readonly Checker[];
}

/** Runs a scenario in virtual time, at once. */
export function runSimulated(scenario: CheckedScenario, options: SimulatedOptions = {}): Run {
  const seed = options.seed ?? scenario.cluster.seed;
  const { nodes, partial_timeout_ms: partialTimeoutMs, nodes_wait_ms: nodesWaitMs } = scenario.cluster;
  const cluster = new SimCluster({ seed, nodes, config: { partialTimeoutMs, nodesWaitMs } });
  const world = simulatedWorld(cluster);
  const verdict = judge(scenario, world, cluster, options);
  return {
    scenario: scenario.scenario,
    about: scenario.about,
    world: 'simulated',
    seed,
    nodes,
    verdict,
    tookMs: world.nowMs(),
    replay: `signmesh scenario run scenarios/${scenario.scenario}.yaml --seed ${seed}`,
    events: world.recording(),
  };
}

function judge(scenario: CheckedScenario, world: ScenarioWorld, cluster: SimCluster, options: RunOptions): Verdict {
  let verdict: Verdict | undefined;
  runScenario(
    scenario,
    world,
    (found) => {
      verdict = found;
    },
    options,
  );
  cluster.time.runUntil(() => verdict !== undefined);
  return verdict ?? { kind: 'stuck', what: 'nothing is left to happen', cause: 'a client waits for what never comes' };
}

/** A cluster as the runner sees it. */
export function simulatedWorld(cluster: SimCluster): ScenarioWorld {
  const beganMs = cluster.time.nowMs();
  const answers: {
    [Q in QuestionName]: (asks: Questions[Q]['asks'], gets: (answer: Questions[Q]['gets']) => void) => void;
  } = {
    call: (asks, gets) => call(cluster, asks, gets),
    previewPartial: (asks, gets) => {
      const preview = cluster.previewPartial({ sessionId: asks.sessionId, nodeId: asks.nodeId });
      const wait = () => {
        if (!preview.isDone) cluster.time.after(1, wait);
        else {
          const { partial, message } = preview.result();
          gets(partial.length === 0 ? { failure: message } : { partial });
        }
      };
      wait();
    },
    session: ({ sessionId }, gets) => gets(factsOf(cluster, sessionId)),
    nodesReady: (_, gets) => gets(cluster.roster.nodes.filter(({ id }) => cluster.isNodeUp(id)).length),
    inject: (_, gets) => gets({ failure: 'this world has no faults yet' }),
    strikes: (_, gets) => gets(0),
    heal: (_, gets) => gets(undefined),
    advance: (_, gets) => gets(undefined),
    step: (_, gets) => gets(undefined),
    wait: ({ ms }, gets) => void cluster.time.after(ms, () => gets(undefined)),
    events: (_, gets) => gets(cluster.eventLog(tenant)),
    delivered: (_, gets) => gets([]),
  };
  return {
    kind: 'simulated',
    nowMs: () => cluster.time.nowMs() - beganMs,
    idOf: (name) => name,
    ask: (question, asks, gets) => answers[question](asks, gets),
    recording: () => [],
    violations: () => [],
  };
}

function call(
  cluster: SimCluster,
  { name, request }: Questions['call']['asks'],
  gets: (answer: Questions['call']['gets']) => void,
): void {
  // Name and request belong together, which the type of a lookup cannot say.
  const ask = cluster[name] as (init: unknown) => {
    isDone: boolean;
    result(): Extract<Questions['call']['gets'], { response: unknown }>['response'];
  };
  const asked = ask(request);
  const givesUpMs = cluster.time.nowMs() + patienceMs;
  const look = () => {
    if (asked.isDone) {
      try {
        gets({ response: asked.result() });
      } catch {
        gets({ failure: 'UNAVAILABLE', message: '' });
      }
    } else if (cluster.time.nowMs() >= givesUpMs) gets({ failure: 'LOST', message: 'no answer in time' });
    else cluster.time.after(1, look);
  };
  look();
}

function factsOf(cluster: SimCluster, sessionId: string): SessionFacts | undefined {
  const record = cluster.storedSession(tenant, sessionId);
  if (record === undefined) return undefined;
  const { state, reasonCode, epoch, ceremony } = record;
  return {
    sessionId,
    state: ReceiptState[state],
    reasonCode,
    epoch,
    attempt: ceremony.attempt,
    culprits: ceremony.kind === 'dkg' ? [] : ceremony.excluded,
    publicKey: ceremony.kind === 'dkg' ? ceremony.publicKey : '',
  };
}
