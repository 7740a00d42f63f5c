/** Reads a plan from a YAML file. It reports every problem with line, column, field and remedy (scenarios/runner/yaml-file.ts). */
import Type, { type Static } from 'typebox';
import { durationMs, durationPattern } from '../../../proto/durations.ts';
import { Closed, OneOf } from '../../../scenarios/faults/vocabulary/schema-kit.ts';
import { explain, type ScenarioSchema, type SchemaFault } from '../../../scenarios/runner/explain.ts';
import { readYaml } from '../../../scenarios/runner/yaml-file.ts';
import { apiNames } from '../calls/signing-caller.ts';
import { planProblems } from './limits.ts';
import {
  arrivalKinds,
  type LoadPlan,
  type LoadStage,
  type OperationName,
  operationNames,
  planDefaults,
  planLimits,
} from './plan.ts';
import { type ShapeWords, shapeOf } from './shapes.ts';
import { parseThreshold } from './threshold.ts';

const Name = (description: string) => Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description });
const Rate = Type.Number({ minimum: 0, maximum: 100_000, description: 'operations a second' });
const Duration = Type.String({ pattern: durationPattern, description: '500ms, 30s, 5m or 1h' });
const msOf = (text: string) => durationMs(text, planLimits.totalMsMax);

const PlanFile = Closed({
  load: Name('name of the plan'),
  about: Type.Optional(Type.String({ maxLength: 2000 })),
  api: Type.Optional(OneOf(apiNames, 'way to the signing API; rest by default')),
  mix: Closed(
    Object.fromEntries(operationNames.map((name) => [name, Type.Optional(Type.Number({ minimum: 0.001 }))])) as Record<
      OperationName,
      ReturnType<typeof Type.Optional<ReturnType<typeof Type.Number>>>
    >,
    { description: 'weights of operations' },
  ),
  arrivals: Type.Optional(OneOf(arrivalKinds, 'even by default')),
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 })),
  in_flight_max: Type.Optional(Type.Integer({ minimum: 1 })),
  stages: Type.Array(
    Closed({
      stage: Name('its name'),
      for: Duration,
      rate: Type.Optional(Rate),
      ramp_to: Type.Optional(Rate),
      spike_to: Type.Optional(Rate),
      soak: Type.Optional(Type.Boolean()),
      callers: Type.Optional(Type.Integer({ minimum: 1 })),
      times: Type.Optional(Type.Number({ description: 'a multiple of the rate of the last stage with callers' })),
    }),
    { minItems: 1 },
  ),
  thresholds: Type.Optional(Type.Array(Type.String())),
  faults: Type.Optional(Type.String({ description: 'a scenario: its faults are armed when the load begins' })),
  recover_within: Type.Optional(Duration),
});
type PlanFile = Static<typeof PlanFile>;

const words: ShapeWords = {
  ...{ rate: 'rate', rampTo: 'ramp_to', spikeTo: 'spike_to', soak: 'soak', callers: 'callers' },
};

/** Throws YamlError with every problem. `file`: its name in problems. */
export function loadPlan(text: string, file: string): LoadPlan {
  const place = { file, kind: 'load plan', page: 'docs/load.md' };
  const schema = PlanFile as unknown as ScenarioSchema;
  const value = readYaml(text, place, [
    (given) => explain(schema, given),
    (given) => partFaults(given as PlanFile),
    (given) => planProblems(planOf(given as PlanFile)).map(({ at, message }) => ({ path: at, message, remedy: '' })),
  ]);
  return planOf(value as PlanFile);
}

/** Checks beyond the schema: durations, shapes of stages, thresholds. */
function partFaults({ stages, thresholds = [], recover_within: within }: PlanFile): SchemaFault[] {
  const faults: SchemaFault[] = [];
  const add = (path: SchemaFault['path'], message: string) => faults.push({ path, message, remedy: '' });
  for (const [index, stage] of stages.entries()) {
    if (msOf(stage.for) === undefined) add(['stages', index, 'for'], `${stage.for} is 0, or longer than a day`);
    const shape = shapeOf(saidOf(stage), words);
    if (typeof shape === 'string') add(['stages', index], shape);
  }
  for (const [index, text] of thresholds.entries()) {
    const threshold = parseThreshold(text);
    if (typeof threshold === 'string') add(['thresholds', index], threshold);
  }
  if (within !== undefined && msOf(within) === undefined) {
    add(['recover_within'], `${within} is 0, or longer than a day`);
  }
  return faults;
}

/** The plan of a file whose parts have no fault. */
function planOf(file: PlanFile): LoadPlan {
  return {
    name: file.load,
    api: file.api ?? planDefaults.api,
    mix: new Map(operationNames.flatMap((name) => (file.mix[name] === undefined ? [] : [[name, file.mix[name]]]))),
    stages: file.stages.map(
      (stage): LoadStage => ({
        name: stage.stage,
        forMs: msOf(stage.for)!,
        ...(shapeOf(saidOf(stage), words) as Exclude<ReturnType<typeof shapeOf>, string>),
      }),
    ),
    arrivals: file.arrivals ?? planDefaults.arrivals,
    seed: file.seed ?? planDefaults.seed,
    inFlightMax: file.in_flight_max ?? planDefaults.inFlightMax,
    thresholds: (file.thresholds ?? []).map((text) => parseThreshold(text)).filter((each) => typeof each !== 'string'),
    faults: file.faults,
    recoverWithinMs: msOf(file.recover_within ?? '') ?? planDefaults.recoverWithinMs,
  };
}

function saidOf({ rate, ramp_to: rampTo, spike_to: spikeTo, soak, callers, times }: PlanFile['stages'][number]) {
  return { rate, rampTo, spikeTo, soak, callers, times };
}
