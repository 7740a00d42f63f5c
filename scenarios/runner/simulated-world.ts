/**
 * The simulated world of a scenario: a whole cluster in virtual time. The same scenario, seed and cryptography give the
 * same run, byte for byte.
 */
import { withCryptography } from '../../core/crypto/model/switch.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { keySchemes, schemeMeant, wireScheme } from '../../proto/key-schemes.ts';
import { dkgLifetimeMs, pendingLifetimeMs, signingLifetimeMs } from '../../proto/limits.ts';
import type { GatewayFailure, SimCall, SimCaller } from '../../simulation/cluster/client.ts';
import type { SimCluster, SimOptions } from '../../simulation/cluster/cluster.ts';
import { SimClusters } from '../../simulation/cluster/clusters.ts';
import { releasedVerifier } from '../../simulation/cluster/invariants/verifier.ts';
import type { Checker } from '../../simulation/cluster/observation.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';
import type { LifetimesMs } from '../../simulation/model/session-lifetimes.ts';
import type { RunEvent } from '../faults/recording.ts';
import { FaultError } from '../faults/vocabulary/options.ts';
import type { CheckedScenario } from './format.ts';
import { type RunOptions, runScenario } from './run.ts';
import { RunCheckers, type RunCheckersOptions } from './run-checkers.ts';
import type {
  CallFailure,
  CallTypes,
  QuestionName,
  Questions,
  Run,
  ScenarioWorld,
  SessionFacts,
  Verdict,
} from './world.ts';

const tenant = 'tn_sim';
/** After a passed run, final outcomes get this much time. */
const settleMs = 60_000;
const tasksMax = 20_000_000;
/** A run signs a few times: nodes make few nonces ahead, and more when few are left. */
const nonceBatchFirst = 4;

export interface SimulatedOptions extends RunOptions {
  /** Instead of the scenario's. */
  readonly seed?: string;
  /** For the command that runs it again: the path of the scenario, and the invocation of signmesh. */
  readonly file?: string;
  readonly command?: string;
  /** Real curves by default. */
  readonly crypto?: 'real' | 'model';
  /** Whether to record the run for reports; true by default. */
  readonly record?: boolean;
  /** New checkers for this run only; with several clusters they see the first. Every invariant is checked by default. */
  readonly checkers?: readonly Checker[];
  /** The first violation ends the run; false by default: a report shows the events after it. */
  readonly stopsAtViolation?: boolean;
}

/** A run in a simulated world: its checkers, its events, and its result. */
export abstract class SimulatedRun {
  protected readonly scenario: CheckedScenario;
  protected readonly options: SimulatedOptions;
  protected readonly seed: string;
  protected readonly verify;
  protected readonly checkers: RunCheckers;
  protected readonly events: RunEvent[] = [];

  constructor(
    scenario: CheckedScenario,
    options: SimulatedOptions,
    checks: Pick<RunCheckersOptions, 'without'> & { readonly delivers: boolean },
  ) {
    this.scenario = scenario;
    this.options = options;
    this.seed = options.seed ?? scenario.cluster.seed;
    this.verify = options.verify ?? releasedVerifier;
    const { clusters, client_dealers: consents } = scenario.cluster;
    const { delivers, ...without } = checks;
    this.checkers = new RunCheckers({
      ...{ clusters, first: options.checkers, ...without },
      context: { verify: this.verify, consents: () => consents, ...(delivers && { delivers }) },
      events: options.record === false ? undefined : this.events,
    });
  }

  /** The options of its clusters. */
  protected get clusterOptions() {
    const { cluster } = this.scenario;
    return {
      seed: this.seed,
      ...{ nodes: cluster.nodes, clusters: cluster.clusters },
      config: coordinatorConfig(this.scenario),
      clientDealers: () => cluster.client_dealers,
      ...readyMadeKeys(this.scenario, this.seed),
      sweeping: true,
      sweepEveryMs: cluster.sweep_ms,
      onBug: 'record',
      keepTrace: false,
      observe: (...seen: Parameters<RunCheckers['observe']>) => this.checkers.observe(...seen),
      ...(this.options.record !== false && { record: (event: RunEvent) => void this.events.push(event) }),
    } as const;
  }

  protected get seen(): Seen {
    const recordsSteps = this.options.record !== false;
    return { events: this.events, violations: this.checkers.violations, recordsSteps };
  }

  protected get isStopped(): boolean {
    return this.options.stopsAtViolation === true && this.checkers.violations.length > 0;
  }

  /** `verdict`: of the runner; undefined: it has none. */
  protected evaluated(verdict: Verdict | undefined): Verdict {
    if (this.isStopped) return this.checked();
    return (
      verdict ?? { kind: 'stuck', what: 'nothing is left to happen', cause: 'a client waits for what never comes' }
    );
  }

  protected checked(): Verdict {
    return this.checkers.verdict ?? { kind: 'passed' };
  }

  protected result(verdict: Verdict, tookMs: number): Run {
    const { scenario, about, cluster } = this.scenario;
    return {
      ...{ scenario, about, world: 'simulated', seed: this.seed, nodes: cluster.nodes },
      ...(cluster.clusters !== undefined && { clusters: cluster.clusters }),
      ...{ verdict, tookMs, replay: this.#replay(), events: this.events },
    };
  }

  /** The command that runs it again. */
  #replay(): string {
    const { scenario } = this.scenario;
    const { file = `scenarios/${scenario}.yaml`, command = 'signmesh', crypto } = this.options;
    const flag = crypto === 'model' ? ' --crypto model' : '';
    return `${command} scenario run ${shellWord(file)} --seed ${shellWord(this.seed)}${flag}`;
  }
}

/** Runs a scenario in virtual time, at once. */
export function runSimulated(scenario: CheckedScenario, options: SimulatedOptions = {}): Run {
  const { crypto = 'real' } = options;
  return withCryptography(crypto, () => new SigningRun(scenario, options).run());
}

class SigningRun extends SimulatedRun {
  readonly #clusters: SimClusters;

  constructor(scenario: CheckedScenario, options: SimulatedOptions) {
    super(scenario, options, { delivers: true });
    const { mailbox: mailboxMax, link_news_ms: linkNewsMs } = scenario.cluster;
    this.#clusters = new SimClusters({ ...this.clusterOptions, mailboxMax, linkNewsMs, receiver: true });
  }

  run(): Run {
    const evaluated = this.#evaluate();
    const tookMs = this.#clusters.scenarioMs;
    return this.result(evaluated.kind === 'passed' ? this.#settle() : evaluated, tookMs);
  }

  #evaluate(): Verdict {
    let verdict: Verdict | undefined;
    const done = (found: Verdict) => {
      verdict = found;
    };
    const world = simulatedWorld(this.#clusters, this.seen);
    runScenario(this.scenario, world, done, { ...this.options, verify: this.verify });
    this.#clusters.time.runUntil(() => verdict !== undefined || this.isStopped, tasksMax);
    return this.evaluated(verdict);
  }

  /** The run has passed: faults end, then pending outcomes complete, or a checker reports that they do not. */
  #settle(): Verdict {
    if (!this.checkers.hasEnd) return { kind: 'passed' };
    const { time } = this.#clusters;
    this.#clusters.heal();
    const untilMs = time.nowMs() + settleMs;
    let isOver = false;
    time.after(settleMs, () => {
      isOver = true;
    });
    time.runUntil(() => isOver || time.nowMs() >= untilMs || this.isStopped, tasksMax);
    if (this.checkers.verdict === undefined) this.checkers.finish(this.#clusters.scenarioMs);
    return this.checked();
  }
}

/** The configuration of the scenario's coordinator. */
function coordinatorConfig({ cluster }: CheckedScenario): NonNullable<SimOptions['config']> {
  const lifetimes = lifetimesOf(cluster);
  return {
    partialTimeoutMs: cluster.partial_timeout_ms,
    nodesWaitMs: cluster.nodes_wait_ms,
    lifetimes: { signingMs: lifetimes.signing, pendingMs: lifetimes.pending, dkgMs: lifetimes.dkg },
    nonceBatchFirst: cluster.nonce_batch ?? nonceBatchFirst,
    ...(cluster.idle_ms !== undefined && { idleMs: cluster.idle_ms }),
    ...(cluster.calls_waiting !== undefined && { callsWaitingMax: cluster.calls_waiting }),
  };
}

/** The keys that its cluster 1 makes; like those of a sandbox, they follow from a seed. */
function readyMadeKeys({ cluster }: CheckedScenario, seed: string): Pick<SimOptions, 'readyMade'> {
  const { ready_made: sessions } = cluster;
  return sessions === undefined
    ? {}
    : { readyMade: { seedOf: () => randomStream(seed, 'ready-made')(32), tenant, sessions } };
}

/** The lifetimes of its sessions: the product's, where the scenario sets none. */
export function lifetimesOf(cluster: CheckedScenario['cluster']): LifetimesMs {
  return {
    signing: cluster.signing_lifetime_ms ?? signingLifetimeMs,
    pending: cluster.pending_lifetime_ms ?? pendingLifetimeMs,
    dkg: cluster.key_lifetime_ms ?? dkgLifetimeMs,
  };
}

/** All other calls are the gateway's own. */
const ofWalletService = { makeKey: true, sign: true, closeKey: true } as const;

type Handlers = {
  readonly [Q in QuestionName]: (asks: Questions[Q]['asks'], gets: (answer: Questions[Q]['gets']) => void) => void;
};

/** Observers of a run. Steps are added to the events; the cluster records the other events. */
export interface Seen {
  readonly events: RunEvent[];
  readonly violations: readonly Violation[];
  readonly recordsSteps: boolean;
}

/** A cluster as the runner sees it. */
export function simulatedWorld(
  cluster: SimClusters,
  { events, violations, recordsSteps }: Seen = { events: [], violations: [], recordsSteps: false },
): ScenarioWorld {
  const handlers: Handlers = {
    call: (asks, gets) => call(cluster, asks, gets),
    walletCall: (asks, gets) => walletCall(cluster, asks, gets),
    previewPartial: (asks, gets) =>
      cluster.previewPartial(asks, tenant).onDone((done) => {
        if ('error' in done) gets({ failure: done.error.message });
        else if (done.answer.partial.length === 0) gets({ failure: done.answer.message });
        else gets({ partial: done.answer.partial });
      }),
    session: ({ sessionId }, gets) => gets(factsOf(sessionId, cluster.storedSession(tenant, sessionId))),
    nodesReady: (_, gets) => gets(cluster.nodesReady()),
    inject: ({ fault }, gets) => {
      try {
        gets({ id: cluster.arm(fault) });
      } catch (error) {
        if (!(error instanceof FaultError)) throw error;
        gets({ failure: error.message });
      }
    },
    triggerCount: ({ id }, gets) => gets(cluster.faultStatuses().find((status) => status.id === id)?.triggerCount ?? 0),
    heal: (_, gets) => {
      cluster.heal();
      gets(undefined);
    },
    advance: ({ byMs }, gets) => {
      cluster.advance(byMs);
      gets(undefined);
    },
    step: (step, gets) => {
      if (recordsSteps) events.push({ kind: 'step', atMs: cluster.scenarioMs, ...step });
      if (step.what === 'began') cluster.step(step.step);
      gets(undefined);
    },
    wait: ({ ms }, gets) => {
      cluster.time.after(ms, () => gets(undefined));
    },
    events: (_, gets) => gets(cluster.eventLog(tenant)),
    delivered: (_, gets) => gets(cluster.delivered()),
    request: noWalletApi,
    receiver: noWalletApi,
    received: noWalletApi,
  };
  return {
    kind: 'simulated',
    nowMs: () => cluster.scenarioMs,
    idOf: (name) => name,
    ask: (question, asks, gets) => handlers[question](asks, gets),
    recording: () => events,
    violations: () => violations,
  };
}

/** Scenarios that use it run in the world of the whole product (simulation/service/scenario/run.ts). */
function noWalletApi(): never {
  throw new Error('the simulated signing world has no wallet API');
}

const failures: Readonly<Partial<Record<GatewayFailure['kind'], CallFailure>>> = {
  overloaded: 'OVERLOADED',
  unavailable: 'UNAVAILABLE',
  deadlineExceeded: 'DEADLINE_EXCEEDED',
  invalidRequest: 'MALFORMED',
};

type Response = Extract<Questions['call']['gets'], { readonly response: unknown }>['response'];

function call(
  cluster: SimClusters,
  { name, request, keystoreType, walletTerms }: Questions['call']['asks'],
  gets: (answer: Questions['call']['gets']) => void,
): void {
  if (name === 'refreshKey' && request.scheme === Scheme.UNSPECIFIED) {
    refresh(cluster, request, gets);
    return;
  }
  // Name and request match, which the type of a lookup cannot express.
  const ask = cluster[name] as (request: unknown, tenant: string, caller: SimCaller) => SimCall<Response>;
  const curve = 'derivation' in request && request.derivation?.curve === 'ed25519' ? 'ed25519' : 'secp256k1';
  const scheme = keystoreType === undefined ? undefined : schemeMeant(KeystoreType[keystoreType], curve);
  const caller = {
    ...(scheme !== undefined && { keyScheme: wireScheme(scheme) }),
    ...(walletTerms !== undefined && { walletTerms: termsOf[walletTerms] }),
  };
  ask(request, tenant, caller).onDone((done) => {
    if ('answer' in done) gets({ response: done.answer });
    else gets({ failure: failures[done.error.kind] ?? 'INTERNAL', message: done.error.message });
  });
}

/** The gateway of a sandbox reads the key's scheme before its call, and refuses a key that has none. */
function refresh(
  cluster: SimClusters,
  request: CallTypes['refreshKey'][0],
  gets: (answer: Questions['call']['gets']) => void,
): void {
  cluster.inspectSession({ sessionId: request.keyId }, tenant).onDone((done) => {
    if ('error' in done) return gets({ failure: failures[done.error.kind] ?? 'INTERNAL', message: done.error.message });
    const scheme = keySchemes.find((known) => known === done.answer.keyScheme);
    if (scheme === undefined) return gets({ failure: 'MALFORMED', message: 'the key has no scheme yet' });
    call(cluster, { name: 'refreshKey', request: { ...request, scheme: wireScheme(scheme) } }, gets);
  });
}

const termsOf = {
  archived: { archived: true },
  intents_only: { intentsOnly: true },
  human_required: { approvalMode: ApprovalMode.HUMAN_REQUIRED },
  custodian: { custodian: 'fireblocks' },
} as const;

function walletCall(
  cluster: SimClusters,
  { name, request }: Questions['walletCall']['asks'],
  gets: (answer: Questions['walletCall']['gets']) => void,
): void {
  type Answer = Extract<Questions['walletCall']['gets'], { readonly response: unknown }>['response'];
  const ask = cluster[name] as (request: unknown, tenant: string, caller: SimCaller) => SimCall<Answer>;
  ask(request, tenant, { walletService: name in ofWalletService }).onDone((done) => {
    if ('answer' in done) gets({ response: done.answer });
    else gets({ failure: failures[done.error.kind] ?? 'INTERNAL', message: done.error.message });
  });
}

/** The facts of a session's record; undefined: there is no record. */
export function factsOf(sessionId: string, record: ReturnType<SimCluster['storedSession']>): SessionFacts | undefined {
  if (record === undefined) return undefined;
  const { state, reasonCode, epoch, ceremony } = record;
  return {
    sessionId,
    state: ReceiptState[state],
    reasonCode,
    epoch,
    attempt: ceremony.attempt,
    culprits: ceremony.kind === 'dkg' ? (ceremony.culprits ?? []) : ceremony.excluded,
    publicKey: ceremony.kind === 'dkg' ? ceremony.publicKey : '',
    chainCode: ceremony.kind === 'dkg' ? (ceremony.chainCode ?? '') : '',
  };
}

/** Quoted where a shell would split it. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9._:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
