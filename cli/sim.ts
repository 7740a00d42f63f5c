/**
 * `signmesh sim`: random clusters, workloads and faults in virtual time, with every invariant checked at every event. Results go
 * to standard output, progress to standard error. The exit code gives the first failure's verdict (scenarios/runner/world.ts); 0
 * without a failure.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { eventLine } from '../clients/report/text.ts';
import { verdictExitCodes } from '../scenarios/runner/world.ts';
import { campaign, type Finished, failureOf, variantsOf } from '../simulation/search/campaign.ts';
import { CodeCoverage } from '../simulation/search/coverage.ts';
import { plain, type RunVariant, readVariant, type SeedRun } from '../simulation/search/guide.ts';
import { type Profile, profiles } from '../simulation/search/profiles.ts';
import type { Workload } from '../simulation/search/workload.ts';
import { packageRoot } from './common/built.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { runSubcommand } from './common/subcommands.ts';
import {
  explainFailure,
  failureLine,
  readPlan,
  runAll,
  SimProgress,
  verdictLine,
  type WorldName,
  workloadOf,
  worlds,
} from './sim/public.ts';
import { mapOf } from './source-maps.ts';

interface Flags {
  readonly seeds?: number;
  readonly seed?: number;
  readonly variation?: number;
  readonly firstSeed: number;
  readonly profile: Profile | 'all';
  readonly crypto: 'model' | 'real';
  readonly world: WorldName;
  readonly jobs: number;
  readonly out: string;
  readonly trace?: boolean;
  readonly keepGoing?: boolean;
  readonly coverage?: boolean;
  readonly shrinkRuns: number;
  readonly variant?: string;
  readonly plan?: string;
}

const seedsDefault = 300;
/** A search of this many runs counts landmarks, and fails when no run reached a required one. */
const landmarkRunsMin = 900;
/** Seeds are part of names and of random labels. */
const seedMax = 999_999_999;

/** Resolves with an exit code. Throws a Failure for a wrong call. */
export async function run(args: readonly string[]): Promise<number> {
  const command = makeCommand();
  const ended = await runSubcommand(command, args);
  if (ended !== undefined) return ended;
  const flags = command.opts<Flags>();
  if (flags.trace === true && flags.seed === undefined && flags.plan === undefined) {
    throw new Failure('--trace shows one run: choose it with --seed or --plan.', exitCodes.usage);
  }
  if (flags.seed !== undefined && flags.seeds !== undefined) {
    throw new Failure('Give either --seed or --seeds.', exitCodes.usage);
  }
  const one = flags.variant === undefined ? '--variation' : '--variant';
  if ((flags.variation ?? flags.variant) !== undefined && flags.seed === undefined) {
    throw new Failure(`${one} is of one seed: say which with --seed.`, exitCodes.usage);
  }
  const workload = await workloadOf(flags.world);
  if (flags.profile !== 'all' && !workload.profiles.includes(flags.profile)) {
    throw new Failure(`--world ${flags.world} has the profiles ${workload.profiles.join(', ')}.`, exitCodes.usage);
  }
  if (flags.plan !== undefined) {
    if (flags.world !== 'wallets') throw new Failure('--plan is of --world wallets.', exitCodes.usage);
    return told(workload, readPlan(flags.plan), flags);
  }
  const runs = runsOf(flags, workload);
  if (flags.trace === true) return told(workload, workload.plan(runs[0]!), flags);
  return search(workload, runs, flags);
}

function makeCommand(): Command {
  return new Command('signmesh sim')
    .description(
      'Random clusters, workloads and faults in virtual time, with every invariant checked at every event.\nSame seed, same run, byte for byte.',
    )
    .option('--seeds <count>', `number of seeds to run (${seedsDefault} by default)`, number(1, 100_000_000))
    .option('--first-seed <number>', 'the first seed', number(0, seedMax), 1)
    .option('--seed <number>', 'run this seed only', number(0, seedMax))
    .option('--variation <number>', 'with --seed: --variant turn=0.<number>', number(0, seedMax))
    .option('--trace', 'with --seed or --plan: every event on standard output, one a line')
    .option('--variant <text>', 'with --seed: the varied run that a failure names')
    .option('--plan <file>', 'with --world wallets: run a plan that a search has written')
    .addOption(
      new Option(
        '--profile <name>',
        'which faults may occur; with all, each seed runs in each profile (with --trace: stormy)',
      )
        .choices([...profiles, 'all'])
        .default('all'),
    )
    .addOption(
      new Option('--crypto <kind>', 'model: a stand-in group, fast; real: curves')
        .choices(['model', 'real'])
        .default('model'),
    )
    .addOption(
      new Option(
        '--world <name>',
        'signing: the signing cluster and its calls; wallets: the wallet API over it, with gateways, workers, custodians and webhooks',
      )
        .choices(worlds)
        .default('signing'),
    )
    .option('--jobs <count>', 'runs at the same time', number(1, 64), 1)
    .option('--keep-going', 'continue after a failure, and report each kind of failure once')
    .option('--coverage', 'with --world wallets: list the documented outcomes of operations that no run performed')
    .option('--shrink-runs <count>', 'runs that shrinking a failure may take; 0: no shrinking', number(0, 100_000), 600)
    .option('--out <dir>', 'folder for failing scenarios', 'sim-failures')
    .addHelpText(
      'after',
      '\nExit codes: 0 no failure, 10 failed, 11 violated, 12 stuck, 13 unsupported. See docs/simulation.md.',
    )
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
}

function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
  };
}

/** One run, printed event by event. */
async function told(workload: Workload<unknown>, plan: unknown, { crypto, trace = false }: Flags): Promise<number> {
  const { trace: events, verdict } = await workload.run(plan, { crypto, record: trace });
  const lines = events.map((event) => (typeof event === 'string' ? event : eventLine(event)));
  // One write, for pipes.
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  process.stderr.write(`${verdictLine(verdict)}\n`);
  return verdictExitCodes[verdict.kind];
}

async function search(workload: Workload<unknown>, runs: readonly SeedRun[], flags: Flags): Promise<number> {
  const isGuided = flags.seed === undefined;
  const total = runs.length + (isGuided ? variantsOf(workload, runs.length) : 0);
  const progress = new SimProgress(process.stderr, total, Object.keys(workload.landmarks));
  const seen = new Set<string>();
  const finished = (one: Finished): void => {
    progress.add(one);
    const kind = failureOf(one.verdict);
    if (one.verdict.kind === 'passed' || seen.has(kind)) return;
    seen.add(kind);
    progress.clear();
    process.stdout.write(`${failureLine(one)}\n`);
  };
  // A thread sees its own code alone: a guide by code would depend on their number.
  const coverage = isGuided && flags.jobs === 1 ? new CodeCoverage({ root: packageRoot, mapOf }) : undefined;
  const replay = async (some: readonly SeedRun[]) => void (await runAll(some, flags, () => true));
  const failures = await campaign(workload, runs, {
    runAll: (some, heard) => runAll(some, flags, heard),
    ...{ finished, isGuided, keepGoing: flags.keepGoing === true },
    firstToRun: coverage && ((some) => coverage.first(some, replay)),
  });
  coverage?.stop();
  for (const one of failures) {
    if (failures.length > 1) process.stdout.write(`${failureLine(one)}\n`);
    await explainFailure(workload, one, { ...flags, note: (text) => progress.say(text) });
  }
  progress.clear();
  process.stdout.write(`${progress.summary()}\n`);
  const [first] = failures;
  const exitCode = first === undefined ? exitCodes.ok : verdictExitCodes[first.verdict.kind];
  if (flags.coverage === true) process.stdout.write(outcomesText(workload.outcomes(), progress));
  if (runs.length < landmarkRunsMin) return exitCode;
  process.stdout.write(`${progress.coverage()}\n`);
  // A single profile cannot reach some landmarks.
  const missing = progress.missing(Object.keys(workload.landmarks));
  if (flags.profile !== 'all' || exitCode !== exitCodes.ok || missing.length === 0) return exitCode;
  process.stdout.write(`no run reached ${missing.join('; ')}\n`);
  return verdictExitCodes.failed;
}

/** The documented outcomes of operations, and those that no run performed. */
function outcomesText(outcomes: readonly string[], progress: SimProgress): string {
  const missing = progress.missing(outcomes);
  const lines = missing.map((outcome) => `  ${outcome.replace('pair ', '')}\n`);
  return `outcomes of operations: ${outcomes.length - missing.length} of ${outcomes.length} performed; not performed:\n${lines.join('')}`;
}

function runsOf(flags: Flags, workload: Workload<unknown>): SeedRun[] {
  const { seed, seeds = seedsDefault, firstSeed, profile, trace = false } = flags;
  // A trace is of one run.
  const chosen = profile !== 'all' ? [profile] : trace ? (['stormy'] as const) : workload.profiles;
  const variant = variantOf(flags, workload);
  const count = seed === undefined ? seeds : 1;
  return Array.from({ length: count }, (_, index) => (seed ?? firstSeed) + index).flatMap((one) =>
    chosen.map((name) => ({ seed: one, profile: name, variant })),
  );
}

function variantOf({ variation, variant = '' }: Flags, { steps }: Workload<unknown>): RunVariant {
  if (variation !== undefined && variation > 0) return { ...plain, turns: [{ from: 0, salt: variation }] };
  const read = readVariant(variant, steps);
  if (read === undefined) throw new Failure('--variant must be as a failure names it.', exitCodes.usage);
  return read;
}
