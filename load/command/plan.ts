/** The plan of a load run from the words of its command line. */
import type { ApiName } from '../calls/door.ts';
import { durationMs, planProblem } from '../plan/limits.ts';
import {
  type ArrivalKind,
  type LoadPlan,
  type OperationName,
  operationNames,
  planDefaults,
  planLimits,
  type Shape,
} from '../plan/plan.ts';
import { parseThreshold } from '../plan/threshold.ts';
import { WrongCall } from './wrong-call.ts';

export interface PlanFlags {
  readonly rate?: number;
  readonly rampTo?: number;
  readonly spikeTo?: number;
  readonly soak?: boolean;
  readonly callers?: number;
  readonly for?: string;
  readonly api?: ApiName;
  readonly arrivals?: ArrivalKind;
  readonly inFlightMax?: number;
  readonly seed?: number;
  readonly threshold: readonly string[];
  readonly recoverWithin?: string;
}

const defaultForMs = 10_000;

/** Throws WrongCall. */
export function planOf(words: readonly string[], flags: PlanFlags): LoadPlan {
  const plan: LoadPlan = {
    ...planDefaults,
    name: words.join(' '),
    mix: new Map(words.map(weighted)),
    stages: [{ name: 'load', forMs: duration('--for', flags.for) ?? defaultForMs, ...shapeOf(flags) }],
    thresholds: flags.threshold.map(threshold),
    faults: undefined,
    ...(flags.api !== undefined && { api: flags.api }),
    ...(flags.arrivals !== undefined && { arrivals: flags.arrivals }),
    ...(flags.inFlightMax !== undefined && { inFlightMax: flags.inFlightMax }),
    ...(flags.seed !== undefined && { seed: flags.seed }),
    ...(flags.recoverWithin !== undefined && {
      recoverWithinMs: duration('--recover-within', flags.recoverWithin)!,
    }),
  };
  const problem = planProblem(plan);
  if (problem !== undefined) throw wrong(problem);
  return plan;
}

function weighted(word: string): [OperationName, number] {
  const [name, weight = '1'] = word.split('=');
  const known = operationNames.find((each) => each === name);
  if (known === undefined) throw wrong(`"${word}" is no operation: one of ${operationNames.join(', ')}.`);
  if (!/^\d+(\.\d+)?$/.test(weight) || Number(weight) <= 0) throw wrong(`"${word}": the weight must be above 0.`);
  return [known, Number(weight)];
}

function shapeOf({ rate, rampTo, spikeTo, soak, callers }: PlanFlags): Shape {
  const given = [rampTo, spikeTo, soak].filter((each) => each !== undefined);
  if (given.length > 1) throw wrong('Say one of --ramp-to, --spike-to and --soak.');
  if (callers !== undefined) {
    if (rate !== undefined || given.length > 0) throw wrong('--callers is a closed model: it has no rate.');
    return { shape: 'closed', callers };
  }
  if (rate === undefined) throw wrong('Say --rate (operations a second) or --callers (one operation at a time each).');
  if (rampTo !== undefined) return { shape: 'ramp', rate, rampTo };
  if (spikeTo !== undefined) return { shape: 'spike', rate, spikeTo };
  return { shape: soak === true ? 'soak' : 'constant', rate };
}

function duration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  if (ms === undefined)
    throw wrong(
      `${flag} must be a duration such as 500ms, 30s, 5m or 1h, up to ${planLimits.totalMsMax / 3_600_000}h.`,
    );
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
