/**
 * Runs scenarios against real processes: a running sandbox, or private sandboxes, one for all scenarios with the same cluster.
 * One scenario at a time, since faults and processes are the whole sandbox's.
 */

import { type LiveProcess, startLiveProcess, testVariables } from '../../clients/testing/live-process.ts';
import { LiveWorld } from '../../clients/testing/live-world.ts';
import { ApiError, SandboxApi } from '../../clients/testing/sandbox-api.ts';
import { isNode, splitName } from '../../scenarios/faults/cluster-names.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { isApiServerKind } from '../../scenarios/faults/vocabulary/kinds.ts';
import { CustodyBook } from '../../scenarios/runner/custody-book.ts';
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import { runScenario } from '../../scenarios/runner/run.ts';
import { usesWalletApi } from '../../scenarios/runner/wallet-api-use.ts';
import type { Questions, Run, Verdict } from '../../scenarios/runner/world.ts';
import { brokenBooks, readersOf } from '../../simulation/service/scenario/books.ts';
import { errorText, exitCodes, Failure } from '../common/failure.ts';
import { commandName } from '../common/invocation.ts';
import { TokenKept, targetOf } from '../events/public.ts';
import type { FoundScenario } from './files.ts';
import { transitionsOnTable, wrongBlame } from './live-checkers.ts';

/** The time limit for open intents and deliveries at the end of a run. */
const booksSettleMs = 20_000;

/** A window of the rate limits (cli/role-configs.ts), and a little. */
const rateWindowMs = 10_500;

export interface LiveTarget {
  /** undefined: private clusters. */
  readonly url: string | undefined;
  readonly token: string | undefined;
  /** Of the sandbox at `url`, whose token is taken where none is given. */
  readonly dataDir: string | undefined;
}

/** Calls `done` with each run, as it ends; `tookMs` of real time. */
export async function runLive(
  scenarios: readonly CheckedScenario[],
  target: LiveTarget,
  done: (run: Run, tookMs: number) => void,
): Promise<void> {
  const { url } = target;
  if (url !== undefined) {
    const token = target.token ?? ownToken(url, target.dataDir);
    const api = new SandboxApi({ baseUrl: url, token });
    // The caller must pass a sandbox and one of its tokens.
    await api.processes().catch((error: unknown) => {
      throw error instanceof ApiError ? new Failure(`No scenario can run at ${url}: ${error.message}.`) : error;
    });
    for (const scenario of scenarios) await timed(() => runOn(api, scenario, `--live ${url}`), done);
    return;
  }
  for (const alike of grouped(scenarios)) await onOwnCluster(alike, done);
}

async function onOwnCluster(scenarios: readonly CheckedScenario[], done: (run: Run, tookMs: number) => void) {
  const possible = scenarios.filter(({ worlds }) => worlds.includes('live'));
  for (const scenario of scenarios) if (!possible.includes(scenario)) done(unsupported(scenario, '--live'), 0);
  const [first] = possible;
  if (first === undefined) return;
  const { nodes, partial_timeout_ms: partialTimeoutMs, nodes_wait_ms: nodesWaitMs, ...counts } = first.cluster;
  const { clusters = 1, gateways = 1, workers = 1, rate_limits: rateLimits } = counts;
  const doorFaults = hasApiServerFaults(first);
  const starting = startLiveProcess({
    environment: testVariables({
      ...{ nodes, clusters, partialTimeoutMs, nodesWaitMs, gateways, workers, rateLimits, doorFaults },
    }),
  });
  // Ctrl-C cleans everything up; a second one does not wait.
  const interrupt = () =>
    void starting.then((cluster) => cluster.stop()).finally(() => process.exit(exitCodes.interrupted));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    await runAlike(possible, starting, done);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

async function runAlike(
  possible: readonly CheckedScenario[],
  starting: Promise<LiveProcess>,
  done: (run: Run, tookMs: number) => void,
): Promise<void> {
  const own = await starting.catch((error: unknown) => {
    // Others may want another cluster, which may start.
    const cause = `its cluster does not start: ${errorText(error).trim()}`;
    for (const scenario of possible) done(unsupported(scenario, '--live', cause), 0);
  });
  if (!own) return;
  try {
    const api = new SandboxApi({ baseUrl: own.ready.http, token: own.ready.token });
    let before: CheckedScenario | undefined;
    for (const scenario of possible) {
      if (before !== undefined && isResetBetween(before, scenario)) await api.reset();
      const doors = { gateways: own.ready.gateways, token: own.ready.token };
      await timed(() => runOn(api, scenario, '--live', doors), done);
      before = scenario;
    }
  } finally {
    await own.stop();
  }
}

/** The address of the sandbox that runs here. Throws a Failure. */
function ownToken(url: string, dataDir: string | undefined): string {
  try {
    return targetOf({ url, ...(dataDir !== undefined && { dataDir }) }).token;
  } catch (error) {
    if (!(error instanceof Failure) || error instanceof TokenKept) throw error;
    throw new Failure(
      'Give --token with the scope sandbox:admin, or the --data-dir of a local sandbox: none runs here that has one.',
      exitCodes.usage,
    );
  }
}

/** The API addresses of a sandbox that was started for the scenario, and its token. Secret. */
export interface SandboxAddresses {
  readonly gateways: readonly { readonly http: string; readonly grpc: string }[];
  readonly token: string;
}

/** Who follows a run: hears of each step that begins, and may end it. */
export interface RunFollower {
  readonly signal: AbortSignal;
  readonly onStep: (step: string) => void;
}

/** What a scenario needs and the sandbox does not have; undefined: it can run. */
export async function hindranceOf(
  api: SandboxApi,
  scenario: CheckedScenario,
  doors: SandboxAddresses | undefined,
  hasApiFaults = true,
): Promise<string | undefined> {
  if (!scenario.worlds.includes('live')) return simulatedAlone;
  const found = await nodesOf(api);
  const clusters = new Set(found.map((process) => splitName(process).cluster)).size;
  const nodes = found.length / clusters;
  const { clusters: wanted = 1, gateways = 1 } = scenario.cluster;
  if (nodes !== scenario.cluster.nodes) return `it needs ${scenario.cluster.nodes} nodes, and the cluster has ${nodes}`;
  if (clusters !== wanted) return `it needs ${counted(wanted)}, and the sandbox has ${counted(clusters)}`;
  if (gateways > (doors?.gateways.length ?? 1)) return `it needs ${gateways} gateways: run it on a new cluster`;
  if (doors === undefined && callsGrpc(scenario)) return 'it uses gRPC: run it on a new cluster';
  if (!hasApiFaults && hasApiServerFaults(scenario)) return 'it needs faults of the API: start with --door-faults';
  return undefined;
}

async function nodesOf(api: SandboxApi): Promise<readonly string[]> {
  return (await api.processes()).filter(({ process }) => isNode(process)).map(({ process }) => process);
}

/** Runs one scenario on a sandbox, and heals it afterwards. `doors`: only the HTTP address of `api` by default. */
export async function runOn(
  api: SandboxApi,
  scenario: CheckedScenario,
  flags: string,
  doors?: SandboxAddresses,
  follower?: RunFollower,
): Promise<Run> {
  const hindrance = await hindranceOf(api, scenario, doors);
  if (hindrance !== undefined) return unsupported(scenario, flags, hindrance);
  const nodes = (await nodesOf(api)).length;
  // Earlier calls no longer count in the windows of this run.
  if (scenario.cluster.rate_limits) await new Promise((resolve) => setTimeout(resolve, rateWindowMs));
  const world = await LiveWorld.open({
    api,
    nodes,
    ...(follower && { onStep: follower.onStep }),
    receiver: wantsEvents(scenario) ? 'registered' : usesWalletApi(scenario),
    ...(doors && {
      doors: doors.gateways.map(({ http }) => http),
      ...(callsGrpc(scenario) && { grpcAddresses: doors.gateways.map(({ grpc }) => grpc), token: doors.token }),
    }),
    checkers: [transitionsOnTable()],
  });
  const custody = new CustodyBook();
  try {
    const evaluated = await new Promise<Verdict>((resolve, reject) => {
      world.onFailure(reject);
      const end = () => world.end(new Error('the scenario was ended'));
      if (follower?.signal.aborted) end();
      else follower?.signal.addEventListener('abort', end, { once: true });
      runScenario(scenario, world, resolve, { custody });
    });
    const tookMs = world.nowMs();
    const verdict = await withBooks(world, custody, scenario, await withEvents(world, scenario, evaluated));
    await world.readRecording();
    return { ...describe(scenario, flags), verdict, tookMs, events: world.recording() };
  } finally {
    await world.close();
  }
}

function counted(clusters: number): string {
  return clusters === 1 ? 'one cluster' : `${clusters} clusters`;
}

/** Checks every event of the run: a violated invariant outranks failed expectations. */
async function withEvents(world: LiveWorld, scenario: CheckedScenario, verdict: Verdict): Promise<Verdict> {
  const asked = <Q extends 'heal' | 'events'>(question: Q) =>
    new Promise<Questions[Q]['gets']>((resolve, reject) => world.ask(question, {}, resolve, reject));
  // Of several clusters each coordinator must answer which sessions are its own.
  if ((scenario.cluster.clusters ?? 1) > 1) await asked('heal');
  const events = await asked('events');
  const found = world.violations()[0] ?? (await wrongBlame(scenario, events, (id) => world.clusterOf(id)));
  return found ? { kind: 'violated', invariant: found.invariant, cause: found.text } : verdict;
}

/** The run has passed: checks the tenants' books, which may change the verdict. */
async function withBooks(
  world: LiveWorld,
  book: CustodyBook,
  scenario: CheckedScenario,
  verdict: Verdict,
): Promise<Verdict> {
  if (verdict.kind !== 'passed' || !usesWalletApi(scenario)) return verdict;
  await new Promise<undefined>((resolve, reject) => world.ask('heal', {}, resolve, reject));
  const readers = readersOf(CustodyBook.principals(Object.values(scenario.clients).flat()));
  const [cause] = await brokenBooks({ world, book, readers, settleMs: booksSettleMs });
  return cause === undefined ? verdict : { kind: 'violated', invariant: 'books-right', cause };
}

function describe({ scenario, about, cluster, file }: CheckedScenario & Partial<FoundScenario>, flags: string) {
  const replay = `${commandName()} scenario run ${file ?? `scenarios/${scenario}.yaml`} ${flags}`;
  const { nodes, clusters } = cluster;
  return { scenario, about, world: 'live', seed: '', nodes, ...(clusters && { clusters }), replay } as const;
}

const simulatedAlone = 'it runs only in the simulated world';

function unsupported(scenario: CheckedScenario, flags: string, cause = simulatedAlone): Run {
  return { ...describe(scenario, flags), verdict: { kind: 'unsupported', cause }, tookMs: 0, events: [] };
}

/** Whether it awaits events of the sandbox's own tenant. */
function wantsEvents({ clients, expect, faults }: CheckedScenario): boolean {
  const waits = Object.values(clients)
    .flat()
    .some((step) => 'wait' in step && step.wait.delivered !== undefined && step.wait.webhook === undefined);
  const hitsDelivery = faults.some(({ fault }) => /^(receiver_|worker_|double_delivery|poison_job)/.test(fault));
  return (
    waits || hitsDelivery || expect.some(({ delivered, webhook }) => delivered !== undefined && webhook === undefined)
  );
}

function callsGrpc({ clients }: CheckedScenario): boolean {
  return Object.values(clients)
    .flat()
    .some((step) => 'transport' in step && step.transport === 'grpc');
}

function hasApiServerFaults(scenario: CheckedScenario): boolean {
  return faultsOf(scenario).some(({ fault }) => isApiServerKind(fault));
}

/** Its initial faults, and the faults that its steps inject. */
function faultsOf({ clients, faults }: CheckedScenario): readonly Fault[] {
  const steps = Object.values(clients).flat();
  return [...faults, ...steps.flatMap((step) => ('inject' in step ? [step.inject] : []))];
}

/**
 * Effects that healing does not undo: clock offsets, lost stores, the cluster of the next key; and which nodes were silent, where the
 * next one's keys have fewer nodes than there are.
 */
export function isResetBetween(before: CheckedScenario, next: CheckedScenario): boolean {
  const steps = Object.values(before.clients).flat();
  return (
    (before.cluster.clusters ?? 1) > 1 ||
    steps.some((step) => 'advance_ms' in step) ||
    faultsOf(before).some(
      (fault) => fault.fault === 'clock_jump' || (fault.fault === 'crash' && fault.lose_state === true),
    ) ||
    (faultsOf(before).length > 0 && drawsNodes(next))
  );
}

function drawsNodes({ clients, cluster }: CheckedScenario): boolean {
  return Object.values(clients)
    .flat()
    .some((step) => 'total_nodes' in step && (step.total_nodes ?? cluster.nodes) < cluster.nodes);
}

/** Groups of scenarios with the same cluster, in order of appearance. */
function grouped(scenarios: readonly CheckedScenario[]): readonly (readonly CheckedScenario[])[] {
  const groups = new Map<string, CheckedScenario[]>();
  for (const scenario of scenarios) {
    const { nodes, clusters = 1, partial_timeout_ms, nodes_wait_ms, gateways = 1, workers = 1 } = scenario.cluster;
    const limits = JSON.stringify(scenario.cluster.rate_limits);
    const counts = [clusters, nodes, partial_timeout_ms, nodes_wait_ms, gateways, workers, limits];
    const key = [...counts, hasApiServerFaults(scenario)].join(' ');
    groups.set(key, [...(groups.get(key) ?? []), scenario]);
  }
  return [...groups.values()];
}

async function timed(work: () => Promise<Run>, done: (run: Run, tookMs: number) => void): Promise<void> {
  const beganMs = performance.now();
  const run = await work();
  done(run, performance.now() - beganMs);
}
