/**
 * `signmesh load`: loads a service from outside, over its doors, and reports how it fared: rates, latencies, and whether
 * everything that it answered was right.
 */
import { writeFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { apiNames } from '../load/calls/door.ts';
import { isLoopback } from '../load/calls/service.ts';
import { arrivalKinds } from '../load/plan/plan.ts';
import { LiveView } from '../load/report/live.ts';
import type { LoadReport } from '../load/report/results.ts';
import { textOf } from '../load/report/text.ts';
import { runLoad } from '../load/run/run.ts';
import { errorText, exitCodes, Failure } from './common/failure.ts';
import { type TargetFlags, targetOf, withTarget } from './events/target.ts';
import { type PlanFlags, planOf } from './load/plan.ts';

/** Thresholds were missed, or the run is worse than its baseline: the number that k6 has for it. */
export const exitCodeMissed = 99;

interface Flags extends TargetFlags, PlanFlags {
  readonly grpc?: string;
  readonly json?: string | true;
  readonly iOwnThisTarget?: boolean;
}

/** Resolves with an exit code. Throws a Failure for a wrong call, and when there is nothing to load. */
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
  const plan = planOf(command.args, flags);
  const found = targetOf(flags);
  const target = { url: found.url, token: found.token, grpc: flags.grpc ?? found.grpc };
  if (plan.api === 'grpc' && target.grpc === undefined) {
    throw new Failure('The gRPC address is not known: say --grpc, such as 127.0.0.1:50051.', exitCodes.usage);
  }
  for (const place of [target.url, target.grpc]) {
    if (place === undefined || isLoopback(place) || flags.iOwnThisTarget === true) continue;
    throw new Failure(
      `${place} is not on this machine. Load only what you own, and say so: --i-own-this-target.`,
      exitCodes.usage,
    );
  }
  const toOutput = flags.json === true || flags.json === '-';
  const view = new LiveView(
    { isTTY: process.stderr.isTTY === true, write: (text) => process.stderr.write(text) },
    plan,
  );
  const interrupted = new AbortController();
  const stop = () => {
    if (interrupted.signal.aborted) process.exit(exitCodes.interrupted);
    view.say('stopping; a second Ctrl-C ends without a report');
    interrupted.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  let report: LoadReport;
  try {
    report = await runLoad({
      plan,
      target,
      signal: interrupted.signal,
      onProgress: (progress) => view.show(progress),
      say: (line) => view.say(line),
    });
  } catch (error) {
    throw new Failure(errorText(error));
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  const json = `${JSON.stringify(report, null, 2)}\n`;
  if (toOutput) process.stdout.write(json);
  else if (typeof flags.json === 'string') writeFileSync(flags.json, json);
  (toOutput ? process.stderr : process.stdout).write(`${textOf(report)}\n`);
  return exitCodeOf(report);
}

function exitCodeOf(report: LoadReport): number {
  if (!report.correctness.holds || !report.recovery.holds) return exitCodes.failed;
  const isWorse = report.baseline?.comparisons.some(({ verdict }) => verdict === 'worse') === true;
  if (isWorse || report.thresholds.some(({ holds }) => !holds)) return exitCodeMissed;
  return report.interrupted ? exitCodes.interrupted : exitCodes.ok;
}

function makeCommand(): Command {
  return withTarget(
    new Command('signmesh load')
      .description('Load a service over its doors: rates, latencies, and whether every answer was right.')
      .argument('<what...>', 'operations such as sign or sign=8 read=2, or one YAML file with the whole plan')
      .option('--rate <number>', 'operations a second (open model)', number)
      .option('--ramp-to <number>', 'the rate changes evenly from --rate to this', number)
      .option('--spike-to <number>', 'the rate is this in the second third of the time', number)
      .option('--callers <count>', 'instead of a rate: callers with one operation at a time (closed model)', number)
      .option('--for <duration>', 'such as 30s or 5m; 10s by default')
      .addOption(new Option('--api <name>', 'way to the signing API').choices(apiNames))
      .addOption(new Option('--arrivals <kind>', 'how operations of a rate arrive').choices(arrivalKinds))
      .option('--in-flight-max <count>', 'operations under way at once; more are not sent, and counted', number)
      .option('--seed <number>', 'draws the mix and random arrivals', number)
      .option('--threshold <text>', 'such as sign.p99<50ms or errors<0.1%; repeatable', collect, [])
      .option('--recover-within <duration>', 'after the load, latency must be back within this; 30s by default')
      .option('--json [file]', 'write the report there; without a file to standard output')
      .option('--grpc <address>', 'of the gRPC API, such as 127.0.0.1:50051')
      .option('--i-own-this-target', 'load a service that is not on this machine'),
  )
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      `
Operations: sign, sign-ed25519, key. docs/load.md explains them.
Without --url and --token it loads the "signmesh up" that runs in the data directory.
Exit codes: 0 everything holds, 1 an answer was wrong or the service did not recover, 2 a wrong call,
${exitCodeMissed} a threshold was missed or the run is worse than its baseline, 130 interrupted.`,
    );
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

function number(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number.');
}
