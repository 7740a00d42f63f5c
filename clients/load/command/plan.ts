/** The plan of a load run from its command line. */
import { dirname, isAbsolute, join } from 'node:path';
import { durationMs } from '../../../proto/durations.ts';
import type { ApiName } from '../calls/signing-caller.ts';
import { loadPlan } from '../plan/file.ts';
import { planProblems } from '../plan/limits.ts';
import {
  type ArrivalKind,
  type LoadPlan,
  type OperationName,
  operationNames,
  planDefaults,
  planLimits,
} from '../plan/plan.ts';
import { type SaidShape, type ShapeWords, shapeOf } from '../plan/shapes.ts';
import { parseThreshold } from '../plan/threshold.ts';
import { WrongCall } from './wrong-call.ts';

export interface PlanFlags extends SaidShape {
  readonly for?: string;
  readonly api?: ApiName;
  readonly arrivals?: ArrivalKind;
  readonly inFlightMax?: number;
  readonly seed?: number;
  readonly threshold: readonly string[];
  readonly faults?: string;
  readonly recoverWithin?: string;
}

const defaultForMs = 10_000;
const words: ShapeWords = {
  ...{ rate: '--rate', rampTo: '--ramp-to', spikeTo: '--spike-to', soak: '--soak', callers: '--callers' },
};

/** From operations, or from the only plan file. `read` gives a file's text. Throws WrongCall, and YamlError for a file. */
export function planFrom(given: readonly string[], flags: PlanFlags, read: (file: string) => string): LoadPlan {
  const [file] = given;
  if (given.length === 0) throw wrong('Name operations, such as "sign" or "sign=8 read=2", or a plan file.');
  if (given.length !== 1 || file === undefined || !/\.ya?ml$/.test(file)) return planOf(given, flags);
  const strange = (['rate', 'rampTo', 'spikeTo', 'soak', 'callers', 'for'] as const).find(
    (each) => flags[each] !== undefined,
  );
  if (strange !== undefined) throw wrong(`${file} has stages of its own: leave --${strange} out.`);
  const plan = loadPlan(read(file), file);
  return withFlags({ ...plan, faults: plan.faults && besidePlan(file, plan.faults) }, flags);
}

/** A path in a plan is relative to the plan's folder; another text is the name of a scenario of the package. */
function besidePlan(file: string, faults: string): string {
  const isPath = /[/\\]|\.ya?ml$/.test(faults);
  return isPath && !isAbsolute(faults) ? join(dirname(file), faults) : faults;
}

function planOf(operations: readonly string[], flags: PlanFlags): LoadPlan {
  const shape = shapeOf(flags, words);
  if (typeof shape === 'string') throw wrong(`${shape[0]!.toUpperCase()}${shape.slice(1)}.`);
  const plan: LoadPlan = {
    ...planDefaults,
    name: operations.join(' '),
    mix: new Map(operations.map(weighted)),
    stages: [{ name: 'load', forMs: duration('--for', flags.for) ?? defaultForMs, ...shape }],
    thresholds: [],
    faults: undefined,
  };
  return withFlags(plan, flags);
}

/** Flags may override every part of a file except its mix and stages. */
function withFlags(plan: LoadPlan, flags: PlanFlags): LoadPlan {
  const { api, arrivals, inFlightMax, seed, faults } = flags;
  const recoverWithinMs = duration('--recover-within', flags.recoverWithin);
  const whole: LoadPlan = {
    ...plan,
    thresholds: [...plan.thresholds, ...flags.threshold.map(threshold)],
    ...(api !== undefined && { api }),
    ...(arrivals !== undefined && { arrivals }),
    ...(inFlightMax !== undefined && { inFlightMax }),
    ...(seed !== undefined && { seed }),
    ...(faults !== undefined && { faults }),
    ...(recoverWithinMs !== undefined && { recoverWithinMs }),
  };
  const problems = planProblems(whole);
  if (problems.length > 0) throw wrong(problems.map(({ message }) => `${message}.`).join('\n'));
  return whole;
}

function weighted(word: string): [OperationName, number] {
  const [name, weight = '1'] = word.split('=');
  const known = operationNames.find((each) => each === name);
  if (known === undefined) {
    throw wrong(`"${word}" is no operation: one of ${operationNames.join(', ')}. A plan is a file *.yaml.`);
  }
  if (!/^\d+(\.\d+)?$/.test(weight) || Number(weight) <= 0) throw wrong(`"${word}": the weight must be above 0.`);
  return [known, Number(weight)];
}

function duration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = durationMs(text, planLimits.totalMsMax);
  if (ms === undefined) throw wrong(`${flag} must be a duration such as 500ms, 30s, 5m or 1h, up to a day.`);
  return ms;
}

function threshold(text: string) {
  const parsed = parseThreshold(text);
  if (typeof parsed === 'string') throw wrong(`--threshold: ${parsed}.`);
  return parsed;
}

function wrong(message: string): WrongCall {
  return new WrongCall(message);
}
