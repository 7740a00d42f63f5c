/** The limits of a plan. */
import { endpointsOf, type LoadPlan, type LoadStage, planLimits } from './plan.ts';
import { expectedArrivals } from './schedule.ts';

/** A fault of a plan; `at` is its place in the file. */
export interface PlanProblem {
  readonly at: readonly (string | number)[];
  readonly message: string;
}

/** Empty: the plan is valid. */
export function planProblems(plan: LoadPlan): PlanProblem[] {
  const { rateMax, timesMax, callersMax, inFlightMax, stagesMax, totalMsMax, arrivalsMax } = planLimits;
  const problems: PlanProblem[] = [];
  const add = (at: PlanProblem['at'], message: string) => problems.push({ at, message });
  const { mix, stages, thresholds } = plan;
  if (mix.size === 0) add(['mix'], 'the mix is empty: name an operation');
  if (stages.length === 0 || stages.length > stagesMax) add(['stages'], `a plan has 1 to ${stagesMax} stages`);
  if (!isWhole(plan.inFlightMax, inFlightMax)) {
    add(['in_flight_max'], `the in-flight bound is a whole number from 1 to ${inFlightMax}`);
  }
  for (const [index, stage] of stages.entries()) {
    const at = ['stages', index];
    const rates = ratesOf(stage);
    if (rates.some((rate) => rate > rateMax)) add(at, `a rate is at most ${rateMax}/s`);
    if (rates.length > 0 && Math.max(...rates) === 0) add(at, 'nothing arrives at a rate of 0');
    if (stage.shape === 'closed' && !isWhole(stage.callers, callersMax)) {
      add(at, `callers are a whole number from 1 to ${callersMax}`);
    }
    if (stage.shape === 'times') {
      if (!(stage.times > 0 && stage.times <= timesMax)) add(at, `times are above 0 and at most ${timesMax}`);
      if (!stages.slice(0, index).some(({ shape }) => shape === 'closed')) {
        add(at, 'times multiply the rate of a stage with callers before it, and there is none');
      }
    }
    if (stages.findIndex(({ name }) => name === stage.name) < index) add(at, `there is a stage ${stage.name} before`);
  }
  const totalMs = stages.reduce((sum, { forMs }) => sum + forMs, 0);
  if (totalMs > totalMsMax) add(['stages'], `all stages together last at most ${totalMsMax / 3_600_000} hours`);
  const arrivals = stages.reduce((sum, stage) => sum + ('rate' in stage ? expectedArrivals(stage) : 0), 0);
  if (arrivals > arrivalsMax) {
    add(['stages'], `${Math.round(arrivals)} operations arrive; a run keeps the evidence of at most ${arrivalsMax}`);
  }
  const figures = [...mix.keys()].flatMap((operation) => [operation, ...endpointsOf[operation]]);
  for (const [index, { of, stage, text }] of thresholds.entries()) {
    const at = ['thresholds', index];
    if (stage !== undefined && !stages.some(({ name }) => name === stage))
      add(at, `${text}: there is no stage ${stage}`);
    if (of !== undefined && mix.size > 0 && !figures.includes(of)) {
      add(at, `${text}: this load measures no ${of}; one of ${[...new Set(figures)].join(', ')}`);
    }
  }
  return problems;
}

function ratesOf(stage: LoadStage): readonly number[] {
  switch (stage.shape) {
    case 'closed':
    case 'times':
      return [];
    case 'ramp':
      return [stage.rate, stage.rampTo];
    case 'spike':
      return [stage.rate, stage.spikeTo];
    default:
      return [stage.rate];
  }
}

function isWhole(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}
