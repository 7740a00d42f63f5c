/**
 * Chaos for a test of your own: the test's function runs many times in virtual time, each time against a fresh cluster with
 * other faults. A failure is repeated, to see that the test is deterministic, and its faults are reduced to those that it needs.
 */
import { defaultThreshold } from '../../proto/limits.ts';
import { describe } from '../../scenarios/faults/describe.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { faultFaults } from '../../scenarios/runner/shape.ts';
import { chaosPlan } from '../../simulation/chaos/plan.ts';
import { type ChaosProfile, chaosProfileNames } from '../../simulation/chaos/profiles.ts';
import { type Reduction, shrink } from '../../simulation/search/shrink.ts';
import { simpler } from '../../simulation/search/simpler.ts';
import type { TestCluster } from './cluster.ts';
import { type ClusterOptions, cluster as makeCluster } from './make-cluster.ts';
import { checkNames, type OptionNames } from './option-names.ts';

export type { ChaosProfile };

export interface ChaosOptions extends Pick<ClusterOptions, 'nodes' | 'partialTimeoutMs' | 'nodesWaitMs' | 'receiver'> {
  /** The same seed and function give the same runs. Default `chaos`. */
  readonly seed?: string;
  /** How many runs, each with faults of its own. Default 20. */
  readonly runs?: number;
  /** This run alone, from 1: the one that a failure names. */
  readonly only?: number;
  /** How often a failing run is repeated with fewer or simpler faults. Default 60; 0: as drawn. */
  readonly shrinkRuns?: number;
}

const optionNames: OptionNames<ChaosOptions> = {
  seed: true,
  runs: true,
  only: true,
  shrinkRuns: true,
  nodes: true,
  partialTimeoutMs: true,
  nodesWaitMs: true,
  receiver: true,
};

export interface ChaosSummary {
  readonly runs: number;
  /** Faults of all runs that triggered, of all that were injected. */
  readonly triggered: number;
  readonly injected: number;
}

/** The failure of a run, or the finding that the test is not deterministic. `cause` is the test's own error. */
export class ChaosFailed extends Error {
  override readonly name = 'ChaosFailed';
  /** From 1. */
  readonly run: number;
  /** The faults that the failure needs, as far as they could be reduced. */
  readonly faults: readonly Fault[];

  constructor(message: string, run: number, faults: readonly Fault[], cause: unknown) {
    super(message, { cause });
    this.run = run;
    this.faults = faults;
  }
}

/**
 * Runs `test` against simulated clusters with the faults of a profile (docs/testing.md). It must use time and chance of the
 * cluster alone, so that a run can be repeated.
 *
 * Rejects with ChaosFailed when a run rejects, or violates an invariant; with a TypeError that names a wrong option.
 */
export async function chaos(
  profile: ChaosProfile,
  options: ChaosOptions,
  test: (cluster: TestCluster) => Promise<unknown>,
): Promise<ChaosSummary> {
  checkNames('chaos', options, optionNames);
  if (!chaosProfileNames.includes(profile)) {
    throw new TypeError(`there is no profile ${JSON.stringify(profile)}: give ${chaosProfileNames.join(', ')}`);
  }
  const { seed = 'chaos', runs = 20, only, shrinkRuns = 60, nodes = 5, ...rest } = options;
  checkCount('runs', runs, 1);
  checkCount('only', only ?? 1, 1);
  checkCount('shrinkRuns', shrinkRuns, 0);
  const size = { nodes, threshold: Math.min(defaultThreshold, nodes) };

  async function outcome(run: number, faults: readonly Fault[]): Promise<Outcome> {
    const cluster = await makeCluster({ ...rest, nodes, seed: `${seed}/${run}` });
    try {
      const injected = [];
      for (const fault of faults) injected.push(await cluster.inject(fault));
      const error = await test(cluster).then(
        () => undefined,
        (reason: unknown) => ({ reason }),
      );
      const [violation] = cluster.violations();
      const counts = await Promise.all(injected.map((fault) => fault.triggerCount()));
      const triggered = counts.filter((count) => count > 0).length;
      if (violation !== undefined) {
        return { triggered, failure: { kind: `violated ${violation.invariant}`, cause: violation } };
      }
      return error === undefined
        ? { triggered }
        : { triggered, failure: { kind: kindOf(error.reason), cause: error.reason } };
    } finally {
      await cluster.stop();
    }
  }

  let triggered = 0;
  let injected = 0;
  const numbers = only === undefined ? Array.from({ length: runs }, (_, index) => index + 1) : [only];
  for (const run of numbers) {
    const faults = chaosPlan(profile, `${seed}/${run}`, size);
    const ended = await outcome(run, faults);
    triggered += ended.triggered;
    injected += faults.length;
    if (ended.failure === undefined) continue;
    const { kind, cause } = ended.failure;
    const again = await outcome(run, faults);
    if (again.failure?.kind !== kind) {
      const other = again.failure === undefined ? 'passed' : `failed otherwise: ${again.failure.kind}`;
      throw new ChaosFailed(
        `The test is not deterministic. Run ${run} failed (${kind}), and with the same seed and faults it ${other}. ` +
          'Let it take time and chance from the cluster alone: custody.wait, custody.nowMs, custody.clientPorts.',
        run,
        faults,
        cause,
      );
    }
    const fails = async (plan: readonly Fault[]) => (await outcome(run, plan)).failure?.kind === kind;
    const { plan } = await shrink(faults, { reductions: fewerFaults, fails, runsMax: shrinkRuns });
    const words = [
      `Run ${run} of chaos('${profile}', { seed: '${seed}' }) failed: ${kind}`,
      plan.length === 0 ? 'It fails without any fault.' : `It needs ${plan.length} of its ${faults.length} faults:`,
      ...plan.map((fault) => `- ${describe(fault)}\n  ${JSON.stringify(fault)}`),
      `It alone: chaos('${profile}', { seed: '${seed}', only: ${run} }, …)`,
    ];
    throw new ChaosFailed(words.join('\n'), run, plan, cause);
  }
  return { runs: numbers.length, triggered, injected };
}

interface Outcome {
  readonly triggered: number;
  readonly failure?: { readonly kind: string; readonly cause: unknown };
}

/** Equal for runs that fail alike: ids and times differ between plans. */
function kindOf(reason: unknown): string {
  const { name, message } = reason instanceof Error ? reason : { name: typeof reason, message: String(reason) };
  const [first = ''] = message.split('\n');
  return `${name}: ${first.replace(/\b[a-z]{3}_[0-9a-f-]{36}\b/g, '…').replace(/\d{4,}/g, 'N')}`;
}

function* fewerFaults(best: () => readonly Fault[]): Iterable<Reduction<readonly Fault[]>> {
  yield {
    length: () => best().length,
    without: (from, to) => best().filter((_, index) => index < from || index >= to),
  };
  for (let index = 0; index < best().length; index += 1) {
    yield {
      simpler: () =>
        index >= best().length
          ? []
          : simpler(best()[index]!)
              .filter((one) => isWhole(one as Fault))
              .map((one) => best().with(index, one as Fault)),
    };
  }
}

/** A crash or a spell keeps what its kind requires. */
function isWhole(fault: Fault): boolean {
  return faultFaults(fault, []).length === 0;
}

function checkCount(name: string, count: number, least: number): void {
  if (!Number.isSafeInteger(count) || count < least)
    throw new TypeError(`${name} must be a whole number from ${least} on`);
}
