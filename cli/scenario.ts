/**
 * `signmesh scenario`: runs fault scenarios, simulated or live, checks their files, and lists them. Results go to standard
 * output, problems to standard error. The exit code gives the worst verdict (scenarios/runner/world.ts).
 */
import { writeFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import type { CheckedScenario } from '../scenarios/runner/format.ts';
import { runSimulated } from '../scenarios/runner/simulated-world.ts';
import { toYaml } from '../scenarios/runner/to-yaml.ts';
import { usesWalletApi } from '../scenarios/runner/wallet-api-use.ts';
import { type Run, type Verdict, verdictExitCodes } from '../scenarios/runner/world.ts';
import { failsAlike } from '../simulation/search/campaign.ts';
import { shrink } from '../simulation/search/shrink.ts';
import { sizeOf, smallerScenarios } from '../simulation/search/smaller-scenarios.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { commandName } from './common/invocation.ts';
import { type FoundScenario, listed, parseReport, type Report, RunReporter, readScenarios } from './scenario/public.ts';

interface RunFlags {
  /** true: a private cluster; a text: an existing one. */
  readonly live?: string | true;
  readonly token?: string;
  readonly dataDir?: string;
  readonly seed?: string;
  readonly crypto?: 'real' | 'model';
  readonly report: readonly Report[];
  /** A path. */
  readonly shrink?: string;
}

/** A scenario of the wallet API takes up to a second a run. */
const shrinkRunsMax = 300;

/** Resolves with an exit code. Throws a Failure for a wrong call or an invalid scenario. */
export async function run(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const command = makeCommand((code) => {
    exitCode = code;
  });
  try {
    await command.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    const text = error.message.replace(/^error: /, '').replace('\n(', ' (');
    throw new Failure(text === '(outputHelp)' ? 'Give a subcommand: run, check or list.' : text, exitCodes.usage);
  }
}

function makeCommand(end: (exitCode: number) => void): Command {
  const command = new Command('signmesh scenario')
    .description(
      'Fault scenarios: the clients’ calls, the faults and the expected results in one file (docs/scenarios.md).',
    )
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command
    .command('run')
    .description('run scenarios, in the simulated world by default')
    .argument('[file...]', 'scenario files, folders, or names of scenarios of the package')
    .option('--live [url]', 'run against real processes: a new cluster, or the sandbox at this URL')
    .option('--token <token>', 'with --live URL: a token with sandbox:admin; by default the token of the local sandbox')
    .option('--data-dir <path>', 'with --live URL: data directory of the local sandbox (SIGNMESH_DATA_DIR)')
    .option('--seed <text>', 'seed of the simulated world, instead of the scenario’s')
    .addOption(
      new Option('--crypto <kind>', 'of the simulated world').choices(['real', 'model']).default(undefined, 'real'),
    )
    .option('--shrink <file>', 'write the first scenario that fails to this file, as small as it fails in the same way')
    .option('--report <format[=file]>', 'text, jsonl, junit or html; repeatable', collect, [])
    .addHelpText(
      'after',
      `\nExit codes: ${Object.entries(verdictExitCodes)
        .map(([kind, code]) => `${code} ${kind}`)
        .join(', ')}; for several runs the worst.`,
    )
    .action(async (files: string[], flags: RunFlags) => end(await runAll(files, flags)));
  command
    .command('check')
    .description('report errors in scenario files, and run nothing')
    .argument('<file...>')
    .action((files: string[]) => {
      const scenarios = readScenarios(files);
      const { length } = scenarios;
      process.stdout.write(length === 1 ? '1 scenario is valid\n' : `${length} scenarios are valid\n`);
    });
  command
    .command('list')
    .description('list the scenarios of a folder, or those of the package')
    .argument('[folder]')
    .action((folder: string | undefined) => {
      process.stdout.write(listed(folder));
    });
  for (const sub of command.commands) sub.exitOverride().configureOutput({ writeErr: () => undefined });
  return command;
}

function collect(text: string, before: readonly Report[]): readonly Report[] {
  return [...before, parseReport(text)];
}

async function runAll(names: readonly string[], flags: RunFlags): Promise<number> {
  // `--live FILE`: a value that is no address is the first file.
  const isUrl = typeof flags.live === 'string' && /^https?:\/\//.test(flags.live);
  const files = typeof flags.live === 'string' && !isUrl ? [flags.live, ...names] : names;
  if (files.length === 0) throw new Failure('Give a scenario: a file, a folder or a name.', exitCodes.usage);
  const scenarios = readScenarios(files);
  const reporter = new RunReporter(flags.report, scenarios.length);
  if (flags.live === undefined) {
    if (flags.token !== undefined) throw new Failure('--token goes with --live.', exitCodes.usage);
    if (flags.dataDir !== undefined) throw new Failure('--data-dir goes with --live URL.', exitCodes.usage);
    for (const scenario of scenarios) reporter.add(...(await timed(() => simulated(scenario, flags))));
    if (flags.shrink !== undefined) await shrinkFailing(scenarios, reporter.runs, flags.shrink, flags);
  } else {
    if (flags.seed !== undefined) throw new Failure('--seed applies only to the simulated world.', exitCodes.usage);
    if (flags.shrink !== undefined) throw new Failure('--shrink applies only to the simulated world.', exitCodes.usage);
    if (flags.crypto !== undefined) throw new Failure('--crypto applies only to the simulated world.', exitCodes.usage);
    const { runLive } = await import('./scenario/public.ts');
    const url = isUrl ? (flags.live as string) : undefined;
    await runLive(scenarios, { url, token: flags.token, dataDir: flags.dataDir }, (done, tookMs) =>
      reporter.add(done, tookMs),
    );
  }
  reporter.finish();
  return worst(reporter.runs.map(({ verdict }) => verdict));
}

async function simulated(scenario: FoundScenario, { seed, crypto }: RunFlags): Promise<Run> {
  const { file } = scenario;
  const again = { file, command: commandName() };
  const options = { ...again, ...(seed !== undefined && { seed }), ...(crypto !== undefined && { crypto }) };
  if (!usesWalletApi(scenario)) return runSimulated(scenario, options);
  // Loads the control plane only for scenarios that use it.
  const { runInCustodyWorld } = await import('../simulation/service/scenario/run.ts');
  const { searchChecks: checks } = await import('../simulation/search/wallets/scenario-checks.ts');
  return runInCustodyWorld(scenario, { ...options, checks });
}

async function shrinkFailing(
  scenarios: readonly FoundScenario[],
  runs: readonly Run[],
  path: string,
  flags: RunFlags,
): Promise<void> {
  const failed = runs.findIndex(({ verdict }) => verdict.kind !== 'passed' && verdict.kind !== 'unsupported');
  if (failed === -1) return;
  const { file, ...whole } = scenarios[failed]!;
  const cluster = { ...whole.cluster, ...(flags.seed !== undefined && { seed: flags.seed }) };
  const { plan, runs: tried } = await shrink<CheckedScenario>(
    { ...whole, cluster },
    {
      reductions: smallerScenarios,
      fails: async (candidate) =>
        failsAlike(runs[failed]!.verdict, (await simulated({ ...candidate, file }, flags)).verdict),
      runsMax: shrinkRunsMax,
    },
  );
  writeFileSync(path, toYaml(plan));
  process.stderr.write(`${path}: ${sizeOf(plan)} of ${sizeOf(whole)}, in ${tried} runs\n`);
}

async function timed(work: () => Promise<Run>): Promise<[Run, number]> {
  const beganMs = performance.now();
  const done = await work();
  return [done, performance.now() - beganMs];
}

/** From bad to good. */
const order: readonly Verdict['kind'][] = ['violated', 'failed', 'stuck', 'unsupported', 'passed'];

function worst(verdicts: readonly Verdict[]): number {
  const kind = order.find((one) => verdicts.some((verdict) => verdict.kind === one)) ?? 'passed';
  return verdictExitCodes[kind];
}
