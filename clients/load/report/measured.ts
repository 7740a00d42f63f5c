/** The figure of a run for a threshold. */

import { LatencyHistogram } from '../measure/histogram.ts';
import type { Figures } from '../measure/recorder.ts';
import type { Threshold } from '../plan/threshold.ts';
import type { StageResult } from './results.ts';

/** Over the threshold's stages, or all; undefined: the run has no such figure. */
export function measured(results: readonly StageResult[], { of, metric, stage }: Threshold): number | undefined {
  const stages = stage === undefined ? results : results.filter((each) => each.stage.name === stage);
  const figures = stages.flatMap((each) => figuresOf(each, of));
  if (figures.length === 0) return undefined;
  const completed = figures.reduce((sum, each) => sum + each.completed, 0);
  const failed = figures.reduce((sum, { errors }) => sum + sumOf(errors), 0);
  switch (metric) {
    case 'errors':
      return completed + failed === 0 ? undefined : failed / (completed + failed);
    case 'unsent': {
      const arrived = stages.reduce((sum, each) => sum + each.arrived, 0);
      return arrived === 0 ? undefined : stages.reduce((sum, each) => sum + each.unsent, 0) / arrived;
    }
    case 'rate':
      return rateOf(stages, figures, 'completed');
    case 'share': {
      const closed = results.filter((each) => each.stage.shape === 'closed');
      const most = rateOf(
        closed,
        closed.flatMap((each) => figuresOf(each, of)),
        'inTime',
      );
      return most > 0 ? rateOf(stages, figures, 'inTime') / most : undefined;
    }
    case 'health':
      return Math.max(...stages.map(({ health }) => health.max));
    case 'refused':
      return Math.max(...figures.map(({ refused }) => refused.p99));
    default: {
      if (completed === 0) return undefined;
      const merged = new LatencyHistogram();
      for (const { histogram } of figures) merged.addEncoded(histogram);
      return merged.latency()[metric];
    }
  }
}

function rateOf(stages: readonly StageResult[], figures: readonly Figures[], which: 'completed' | 'inTime'): number {
  const count = figures.reduce((sum, each) => sum + each[which], 0);
  return (count * 1000) / stages.reduce((sum, { tookMs }) => sum + tookMs, 0);
}

function figuresOf({ total, operations, endpoints }: StageResult, of: string | undefined): Figures[] {
  if (of === undefined) return [total];
  const found = operations[of] ?? endpoints[of];
  return found === undefined ? [] : [found];
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
