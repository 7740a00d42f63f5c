/** The options of `npm run bench`. */
import { resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { exitCodes, Failure } from '../../../cli/common/failure.ts';
import { apiNames } from '../../../clients/load/calls/signing-caller.ts';

export const doorNames = [...apiNames, 'coordinator'] as const;
export type DoorName = (typeof doorNames)[number];

export const signingSchemes = { ecdsa: 'secp256k1', ed25519: 'ed25519' } as const;
export type SigningScheme = keyof typeof signingSchemes;
const usualParts = [
  'sign',
  'dkg',
  'wallet',
  'events',
  'generator',
  'recon',
  'reference',
  'simulation',
  'start',
  'aims',
] as const;
/** The last three take minutes, or are seldom needed, and run only when named. */
export const partNames = [...usualParts, 'recon-redis', 'flat', 'ladder'] as const;
export type PartName = (typeof partNames)[number];

export interface BenchOptions {
  readonly quick: boolean;
  readonly parts: readonly PartName[];
  readonly doors: readonly DoorName[];
  readonly schemes: readonly SigningScheme[];
  readonly inFlight: readonly number[];
  /** Of each phase, after its warm-up. */
  readonly countMs: number;
  /** Wallets of the largest tenant in the list reads. */
  readonly walletsMany: number;
  readonly warmMs: number;
  /** Ceremonies of each phase before it counts. */
  readonly warmCount: number;
  /** Finished sessions in the store while signatures are measured, ascending. */
  readonly sessions: readonly number[];
  /** Rows of each side in the reconciliation. */
  readonly reconRows: number;
  /** Of each reference. */
  readonly referenceMs: number;
  /** Of a simulation: the median counts. */
  readonly simulationRuns: number;
  /** Of the aims, each measured once in each; the median counts. */
  readonly goes: number;
  /** Measured starts of a cluster. */
  readonly starts: number;
  /** "-": standard output, and the table goes to standard error. */
  readonly jsonFile: string | undefined;
  /** For a CPU profile of every process. */
  readonly profileFolder: string | undefined;
  /** A ratio beyond its budget fails the run. */
  readonly strict: boolean;
}

const secondsMax = 60;
const inFlightMax = 1024;
const walletsMax = 1_000_000;
const warmUpMax = 1_000_000;
const sessionsMax = 10_000_000;

/** undefined: it has printed the help. Throws a Failure on a wrong call. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const program = new Command('signmesh bench')
    .description('Measures a cluster of its own on this machine: signatures, keys, and what they are compared with.')
    .option('--quick', 'under a minute, with less to rely on')
    .addOption(listOption('--only <parts>', 'parts to measure', partNames))
    .addOption(listOption('--doors <names>', 'ways to the coordinator', doorNames))
    .addOption(listOption('--schemes <names>', 'signature schemes', Object.keys(signingSchemes)))
    .option('--in-flight <counts>', 'callers at once, such as 1,8,64', counts)
    .option('--seconds <number>', 'that each phase counts for', seconds)
    .option(
      '--warm-up <ceremonies>',
      'of each phase before it counts, so that V8 has compiled; 30 s of it at most',
      ceremonies,
    )
    .option('--wallets <count>', 'wallets of the largest tenant', wallets)
    .option('--sessions <counts>', 'finished sessions beside which signatures are measured', sessionCounts)
    .option('--json <file>', 'write the results there too ("-": to standard output, the table to standard error)')
    .option('--profile <folder>', 'write a CPU profile of every process there (slower; open it in a browser)')
    .option('--strict', 'exit 1 when a ratio is beyond its budget, too')
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  try {
    program.parse([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    throw new Failure(error.message.replace(/^error: /, ''), exitCodes.usage);
  }
  const given = program.opts<{
    quick?: boolean;
    only?: PartName[];
    doors?: DoorName[];
    schemes?: SigningScheme[];
    inFlight?: number[];
    seconds?: number;
    warmUp?: number;
    wallets?: number;
    sessions?: number[];
    json?: string;
    profile?: string;
    strict?: boolean;
  }>();
  const quick = given.quick === true;
  const countMs = 1000 * (given.seconds ?? (quick ? 1 : 5));
  return {
    quick,
    parts: given.only ?? usualParts,
    doors: given.doors ?? doorNames,
    schemes: given.schemes ?? (Object.keys(signingSchemes) as SigningScheme[]),
    inFlight: given.inFlight ?? [1, 8, 64],
    countMs,
    walletsMany: given.wallets ?? (quick ? 10_000 : 100_000),
    sessions: given.sessions ?? (quick ? [10, 1_000] : [10, 1_000, 100_000, 1_000_000]),
    reconRows: quick ? 20_000 : 1_000_000,
    warmMs: Math.min(1000, countMs / 2),
    warmCount: given.warmUp ?? 0,
    referenceMs: Math.min(1500, countMs / 2),
    simulationRuns: quick ? 1 : 5,
    goes: quick ? 1 : 5,
    starts: Math.max(1, Math.min(7, Math.ceil(countMs / 700))),
    jsonFile: given.json,
    profileFolder: given.profile === undefined ? undefined : resolve(given.profile),
    strict: given.strict === true,
  };
}

function listOption(flags: string, description: string, allowed: readonly string[]): Option {
  const option = new Option(flags, `${description}: ${allowed.join(', ')}`);
  return option.argParser((text) => {
    const words = text.split(',');
    const unknown = words.find((word) => !allowed.includes(word));
    if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${allowed.join(', ')}.`);
    return words;
  });
}

function counts(text: string): number[] {
  const numbers = text.split(',').map(Number);
  if (numbers.every((number) => Number.isInteger(number) && number >= 1 && number <= inFlightMax)) return numbers;
  throw new InvalidArgumentError(`Numbers from 1 to ${inFlightMax}, with commas between.`);
}

function ceremonies(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0 && number <= warmUpMax) return number;
  throw new InvalidArgumentError(`It must be a whole number up to ${warmUpMax}.`);
}

function sessionCounts(text: string): number[] {
  const numbers = text.split(',').map(Number);
  const ascend = numbers.every((number, at) => Number.isInteger(number) && number > (numbers[at - 1] ?? 0));
  if (ascend && numbers.at(-1)! <= sessionsMax) return numbers;
  throw new InvalidArgumentError(`Ascending numbers from 1 to ${sessionsMax}, with commas between.`);
}

function wallets(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= walletsMax) return count;
  throw new InvalidArgumentError(`It must be a number from 1 to ${walletsMax}.`);
}

function seconds(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= secondsMax) return number;
  throw new InvalidArgumentError(`It must be above 0 and at most ${secondsMax}.`);
}
