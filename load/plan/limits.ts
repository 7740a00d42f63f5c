/** What a plan may ask for at most, and durations as people write them. */
import { type LoadPlan, planLimits, type Stage } from './plan.ts';
import { expectedArrivals } from './schedule.ts';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** "500ms", "30s", "5m", "1h"; undefined: it is none, or none above 0. */
export function durationMs(text: string): number | undefined {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const ms = found === null ? 0 : Number(found[1]) * unitMs[found[2]!]!;
  return ms > 0 && ms <= planLimits.totalMsMax ? ms : undefined;
}

/** undefined: the plan can be run. */
export function planProblem(plan: LoadPlan): string | undefined {
  const { rateMax, callersMax, inFlightMax, stagesMax, totalMsMax, arrivalsMax } = planLimits;
  if (plan.mix.size === 0) return 'The mix is empty: name an operation.';
  if (plan.stages.length === 0 || plan.stages.length > stagesMax) return `A plan has 1 to ${stagesMax} stages.`;
  if (!isWhole(plan.inFlightMax, inFlightMax))
    return `The in-flight bound must be a whole number from 1 to ${inFlightMax}.`;
  for (const stage of plan.stages) {
    const rates = ratesOf(stage);
    if (rates.some((rate) => rate > rateMax)) return `Stage ${stage.name}: a rate is at most ${rateMax}/s.`;
    if (rates.length > 0 && Math.max(...rates) === 0) return `Stage ${stage.name}: nothing arrives at a rate of 0.`;
    if (stage.shape === 'closed' && !isWhole(stage.callers, callersMax)) {
      return `Stage ${stage.name}: callers are a whole number from 1 to ${callersMax}.`;
    }
  }
  const total = plan.stages.reduce((sum, { forMs }) => sum + forMs, 0);
  if (total > totalMsMax) return `All stages together last at most ${totalMsMax / 3_600_000} hours.`;
  const arrivals = plan.stages.reduce(
    (sum, stage) => sum + (stage.shape === 'closed' ? 0 : expectedArrivals(stage)),
    0,
  );
  if (arrivals > arrivalsMax) {
    return `The plan sends ${Math.round(arrivals)} operations; a run keeps the evidence of at most ${arrivalsMax}.`;
  }
  const known = new Set(plan.stages.map(({ name }) => name));
  if (known.size < plan.stages.length) return 'Two stages have the same name.';
  const strange = plan.thresholds.find(({ stage }) => stage !== undefined && !known.has(stage));
  return strange === undefined ? undefined : `Threshold ${strange.text}: there is no stage ${strange.stage}.`;
}

function ratesOf(stage: Stage): readonly number[] {
  switch (stage.shape) {
    case 'closed':
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
