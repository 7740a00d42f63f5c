/** The arguments and options of `signmesh load`. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { isLoopback } from '../calls/service.ts';
import { apiNames } from '../calls/signing-caller.ts';
import type { LoadTarget } from '../calls/target.ts';
import { arrivalKinds, type LoadPlan, operationNames } from '../plan/plan.ts';
import type { LoadReport } from '../report/results.ts';
import type { PlanFlags } from './plan.ts';
import { WrongCall } from './wrong-call.ts';

/** `missed`: of a threshold, or when the run is worse than its baseline; k6's number for it. */
export const loadExitCodes = { ok: 0, wrong: 1, usage: 2, missed: 99, interrupted: 130 } as const;

export interface LoadFlags extends PlanFlags {
  readonly grpc?: string;
  readonly json?: string | true;
  readonly baseline?: string;
  readonly html?: string;
  readonly iOwnThisTarget?: boolean;
}

/** Throws WrongCall when the plan must not run against this target. */
export function checkTarget({ url, grpc }: LoadTarget, plan: LoadPlan, flags: LoadFlags): void {
  if (plan.api === 'grpc' && grpc === undefined) {
    throw new WrongCall('The gRPC address is not known: say --grpc, such as 127.0.0.1:50051.');
  }
  const strange = [url, grpc].find((place) => place !== undefined && !isLoopback(place));
  if (strange === undefined || flags.iOwnThisTarget === true) return;
  throw new WrongCall(`${strange} is not on this machine. Load only what you own, and say so: --i-own-this-target.`);
}

export function exitCodeOf(report: LoadReport): number {
  // A person who interrupts a run does not wait for the recovery.
  const recovered = report.recovery.holds || report.interrupted;
  if (!report.correctness.holds || !recovered) return loadExitCodes.wrong;
  const isWorse = report.baseline?.comparisons.some(({ verdict }) => verdict === 'worse') === true;
  if (isWorse || report.thresholds.some(({ holds }) => !holds)) return loadExitCodes.missed;
  return report.interrupted ? loadExitCodes.interrupted : loadExitCodes.ok;
}

export function loadCommand(): Command {
  return new Command('signmesh load')
    .description('Load a service through its APIs: rates, latencies, and whether every answer was right.')
    .argument('[what...]', 'operations such as sign or sign=8 read=2, or a plan: one YAML file')
    .option('--rate <number>', 'operations a second (open model)', number)
    .option('--ramp-to <number>', 'the rate changes evenly from --rate to this', number)
    .option('--spike-to <number>', 'the rate is this in the second third of the time', number)
    .option('--soak', 'a long run at --rate: the report compares its first and last quarter')
    .option('--callers <count>', 'instead of a rate: callers with one operation at a time (closed model)', number)
    .option('--for <duration>', 'such as 30s or 5m; 10s by default')
    .addOption(new Option('--api <name>', 'way to the signing API').choices(apiNames))
    .addOption(new Option('--arrivals <kind>', 'how operations of a rate arrive').choices(arrivalKinds))
    .option('--in-flight-max <count>', 'operations under way at once; more are not sent, and counted', number)
    .option('--seed <number>', 'draws the mix and random arrivals', number)
    .option('--threshold <text>', 'such as sign.p99<50ms or errors<0.1%; repeatable', collect, [])
    .option('--faults <scenario>', 'arm the faults of this scenario during the load')
    .option('--recover-within <duration>', 'after the load, latency must be back within this; 30s by default')
    .option('--json [file]', 'write the report there; without a file to standard output')
    .option('--html <file>', 'write the report there as one page, with plots')
    .option('--baseline <file>', 'compare with the JSON report of an earlier run')
    .option('--grpc <address>', 'of the gRPC API, such as 127.0.0.1:50051')
    .option('--i-own-this-target', 'load a service that is not on this machine')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      `
Operations: ${operationNames.join(', ')}. docs/load.md explains them.
Without --url and --token it loads the "signmesh up" that runs in the data directory.
Exit codes: 0 everything holds, 1 an answer was wrong or the service did not recover, 2 a wrong call,
${loadExitCodes.missed} a threshold was missed or the run is worse than its baseline, 130 interrupted.`,
    );
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

function number(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a decimal number, such as 100 or 0.5.');
}
