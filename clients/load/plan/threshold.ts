/**
 * Thresholds: `sign.p99<50ms`, `errors<0.1%`, `rate>=180`. The left side is a metric, of all operations or of one
 * operation or endpoint that it names; over all stages, or those that `@stage` names.
 */
const latencies = ['p50', 'p90', 'p99', 'p999', 'max', 'mean'] as const;
/**
 * `refused`: the p99 of refusals. `health`: the slowest answer of health. `share`: the rate as a part of that of the stages with
 * callers.
 */
export const metricNames = [...latencies, 'errors', 'unsent', 'rate', 'refused', 'health', 'share'] as const;
export type MetricName = (typeof metricNames)[number];

export interface Threshold {
  /** As written. */
  readonly text: string;
  /** An operation or an endpoint; undefined: all operations. */
  readonly of: string | undefined;
  readonly metric: MetricName;
  readonly stage: string | undefined;
  readonly comparison: '<' | '<=' | '>' | '>=';
  /** Milliseconds, a share of 1, or operations a second. */
  readonly limit: number;
}

export interface ThresholdResult {
  readonly text: string;
  readonly holds: boolean;
  /** undefined: not measured, so it does not hold. */
  readonly measured: number | undefined;
}

const shape =
  /^(?:([A-Za-z][\w /:?=-]*?)[.])?([a-z0-9]+)(?:@([\w-]+))?\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*(ms|s|us|%|\/s)?$/;
function unitsOf(metric: MetricName): readonly string[] {
  if (metric === 'rate') return ['/s', ''];
  return ['errors', 'unsent', 'share'].includes(metric) ? ['%', ''] : ['ms', 's', 'us'];
}
const factors: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, '%': 0.01, '/s': 1, '': 1 };

/** A text: the fault of the threshold. */
export function parseThreshold(text: string): Threshold | string {
  const found = shape.exec(text.trim());
  if (found === null) return `"${text}" is no threshold: write, for example, sign.p99<50ms or errors<0.1%`;
  const [, of, name, stage, comparison, number, unit = ''] = found;
  const metric = metricNames.find((each) => each === name);
  if (metric === undefined) return `"${name}" is no metric: one of ${metricNames.join(', ')}`;
  if (!unitsOf(metric).includes(unit)) {
    const wanted = unitsOf(metric).filter((each) => each !== '');
    return `${metric} needs a unit: ${wanted.join(', ')}`;
  }
  return {
    text: text.trim(),
    of,
    metric,
    stage,
    comparison: comparison as Threshold['comparison'],
    limit: Number(number) * factors[unit]!,
  };
}

/** `measure` gives the figure of a threshold; undefined: there is none. */
export function evaluateThresholds(
  thresholds: readonly Threshold[],
  measure: (threshold: Threshold) => number | undefined,
): ThresholdResult[] {
  return thresholds.map((threshold) => {
    const measured = measure(threshold);
    return { text: threshold.text, measured, holds: measured !== undefined && compare(measured, threshold) };
  });
}

function compare(measured: number, { comparison, limit }: Threshold): boolean {
  switch (comparison) {
    case '<':
      return measured < limit;
    case '<=':
      return measured <= limit;
    case '>':
      return measured > limit;
    case '>=':
      return measured >= limit;
  }
}
