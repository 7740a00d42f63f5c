/**
 * `signmesh sim`: random clusters, workloads and faults in virtual time, with every invariant checked at every event. Results go
 * to standard output, progress to standard error. The exit code gives the first failure's verdict (runner/scenario/world.ts); 0
 * without a failure.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { landmarks } from '../model/landmarks.ts';
import { eventLine } from '../report/text.ts';
import { verdictExitCodes } from '../runner/scenario/world.ts';
import { failureOf, runSeed } from '../runner/search/campaign.ts';
import { type Profile, profiles } from '../runner/search/profiles.ts';
import type { WorldRun } from '../wallet-search/campaign.ts';
import { plain, readVariant, type Variant, variantText } from '../wallet-search/guide.ts';
import { exitCodes, Failure } from './common/failure.ts';
import {
  explainFailure,
  explainWallets,
  type Finished,
  KeptSeeds,
  readPlan,
  roundRuns,
  roundVariants,
  runAll,
  type SeedTask,
  SimProgress,
  searchWallets,
  verdictLine,
  type WorldName,
  walletProfile,
  walletProfiles,
  worlds,
} from './sim/public.ts';

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
  readonly shrinkRuns: number;
  readonly variant: Variant;
  readonly plan?: string;
}

const seedsDefault = 300;
/** A search of this many runs counts landmarks, stores and varies seeds, and fails when no run reached a required landmark. */
const landmarkRunsMin = 900;
/** Seeds are part of names and of random labels. */
const seedMax = 999_999_999;

/** Resolves with an exit code. Throws a Failure for a wrong call. */
export async function run(args: readonly string[]): Promise<number> {
  const command = makeCommand();
  try {
    command.parse([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    throw new Failure(error.message.replace(/^error: /, '').replace('\n(', ' ('), exitCodes.usage);
  }
  const flags = command.opts<Flags>();
  if (flags.trace === true && flags.seed === undefined) {
    throw new Failure('--trace shows one run: choose it with --seed.', exitCodes.usage);
  }
  if (flags.seed !== undefined && flags.seeds !== undefined) {
    throw new Failure('Give either --seed or --seeds.', exitCodes.usage);
  }
  if (flags.variation !== undefined && (flags.seed === undefined || flags.world !== 'signing')) {
    throw new Failure('--variation is of one seed of the signing world: say which with --seed.', exitCodes.usage);
  }
  if (flags.world === 'wallets' && flags.profile !== 'all' && !walletProfiles.some((one) => one === flags.profile)) {
    throw new Failure(`--world wallets has the profiles ${walletProfiles.join(', ')}.`, exitCodes.usage);
  }
  const isOfWallets = flags.plan !== undefined || variantText(flags.variant) !== '';
  if (flags.world === 'signing' && isOfWallets) {
    throw new Failure('--plan and --variant are of --world wallets.', exitCodes.usage);
  }
  if (flags.plan !== undefined) return runPlan(flags);
  return flags.trace === true ? trace(flags) : search(flags);
}

function makeCommand(): Command {
  return new Command('signmesh sim')
    .description(
      'Random clusters, workloads and faults in virtual time, with every invariant checked at every event.\nSame seed, same run, byte for byte.',
    )
    .option('--seeds <count>', `number of seeds to run (${seedsDefault} by default)`, number(1, 100_000_000))
    .option('--first-seed <number>', 'the first seed', number(0, seedMax), 1)
    .option('--seed <number>', 'run this seed only', number(0, seedMax))
    .option('--variation <number>', 'with --seed: the same clients with other faults and times', number(0, seedMax))
    .option('--trace', 'with --seed or --plan: every event on standard output, one a line')
    .option('--variant <text>', 'with --world wallets and --seed: as a failure names it', variantOf, plain)
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

function variantOf(text: string): Variant {
  const read = readVariant(text);
  if (read === undefined) throw new InvalidArgumentError('It must be as a failure names it.');
  return read;
}

/** One run, printed event by event. */
async function trace({ seed = 0, variation, profile, crypto, world, variant }: Flags): Promise<number> {
  // A trace is of one run.
  const one = profile === 'all' ? 'stormy' : profile;
  if (world === 'wallets') {
    const { runWorldSeed } = await import('../wallet-search/campaign.ts');
    return told(await runWorldSeed(seed, walletProfile(one), { crypto, record: true }, variant));
  }
  const { verdict, events } = runSeed(seed, one, { crypto, record: true, variation });
  // One write, for pipes.
  process.stdout.write(events.map((event) => `${eventLine(event)}\n`).join(''));
  process.stderr.write(`${verdictLine(verdict)}\n`);
  return verdictExitCodes[verdict.kind];
}

function told({ trace: lines, verdict }: WorldRun): number {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  process.stderr.write(`${verdictLine(verdict)}\n`);
  return verdictExitCodes[verdict.kind];
}

async function runPlan({ plan: path = '', crypto, trace: isTold = false }: Flags): Promise<number> {
  const { seed, plan } = readPlan(path);
  const { runWorldPlan } = await import('../wallet-search/campaign.ts');
  return told(await runWorldPlan(seed, plan, { crypto, record: isTold }));
}

async function search(flags: Flags): Promise<number> {
  const { crypto, jobs } = flags;
  const tasks = tasksOf(flags);
  const isGuided = flags.world === 'wallets' && flags.seed === undefined;
  const varied = isGuided ? Math.floor(tasks.length / roundRuns) * roundVariants : 0;
  const progress = new SimProgress(process.stderr, tasks.length + varied, await landmarksOf(flags.world));
  const kept = new KeptSeeds();
  // A single profile cannot reach some landmarks.
  const isWhole = flags.profile === 'all';
  const note = (text: string) => progress.say(text);
  const failures: Finished[] = [];
  const seen = new Set<string>();
  let exitCode: number = exitCodes.ok;
  const finished = (one: Finished): boolean => {
    progress.add(one);
    kept.add(one);
    const { verdict } = one;
    if (verdict.kind === 'passed') return true;
    if (exitCode === exitCodes.ok) exitCode = verdictExitCodes[verdict.kind];
    const kind = failureOf(verdict);
    if (!seen.has(kind)) {
      seen.add(kind);
      progress.clear();
      explainFailure(one, { ...flags, note });
      failures.push(one);
    }
    return flags.keepGoing === true;
  };
  if (isGuided) await searchWallets(tasks, { crypto, jobs, finished });
  else await runAll(tasks, { crypto, jobs, finished });
  const mayVary =
    flags.world === 'signing' &&
    tasks.length >= landmarkRunsMin &&
    (exitCode === exitCodes.ok || flags.keepGoing === true);
  const variations = mayVary ? kept.variations() : [];
  progress.extend(variations.length);
  await runAll(variations, { crypto, jobs, finished });
  for (const one of failures) if (one.world === 'wallets') await explainWallets(one, { ...flags, note });
  progress.clear();
  process.stdout.write(`${progress.summary()}\n`);
  if (tasks.length < landmarkRunsMin) return exitCode;
  process.stdout.write(`${progress.coverage()}\n`);
  if (!isWhole || exitCode !== exitCodes.ok || progress.missing.length === 0) return exitCode;
  process.stdout.write(`no run reached ${progress.missing.join('; ')}\n`);
  return verdictExitCodes.failed;
}

async function landmarksOf(world: WorldName): Promise<readonly string[]> {
  if (world === 'signing') return landmarks;
  return Object.keys((await import('../wallet-search/landmarks.ts')).mustHappen);
}

function tasksOf({ world, seed, variation, seeds = seedsDefault, firstSeed, profile, variant }: Flags): SeedTask[] {
  const all = world === 'wallets' ? walletProfiles : profiles;
  const chosen = profile === 'all' ? all : [profile];
  const first = seed ?? firstSeed;
  const count = seed === undefined ? seeds : 1;
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  const how = variantText(variant) === '' ? {} : { variant };
  return numbers.flatMap((one) =>
    chosen.map((name) => ({ world, seed: one, profile: name, ...(variation !== undefined && { variation }), ...how })),
  );
}
