/** Compares a run with an earlier one: ratios of the figures that both have, stage by stage. */
import type { Figures } from '../measure/recorder.ts';
import { sumOf } from './measured.ts';
import type { Comparison, LoadReport, StageResult } from './results.ts';

/** A figure that is this many times as bad is worse: two runs of one machine differ by less. */
export const worseFactor = 1.25;
/** Latencies that differ by less are the same. */
const noiseMs = 1;
/** Shares of errors that differ by less are the same. */
const noiseShare = 0.001;

/**
 * Matches stages by name; omits stages that one of the two lacks. Where the generator was saturated in one of them, a difference
 * is `unclear`: the figures are not the service's. Throws when no stage is left.
 */
export function compare(now: LoadReport, before: LoadReport): readonly Comparison[] {
  const comparisons = now.stages.flatMap((stage) => {
    const earlier = before.stages.find((each) => each.stage.name === stage.stage.name);
    return earlier === undefined ? [] : compareStages(stage, earlier);
  });
  if (comparisons.length === 0) throw new Error('the baseline has no stage of the same name with anything completed');
  return comparisons;
}

function compareStages(now: StageResult, before: StageResult): Comparison[] {
  const { name } = now.stage;
  const found: Comparison[] = [];
  for (const [operation, figures] of Object.entries(now.operations)) {
    const earlier = before.operations[operation];
    if (earlier === undefined || earlier.completed === 0) continue;
    const of = `${name} ${operation}`;
    for (const metric of ['p50', 'p99'] as const) {
      found.push(comparison(`${of} ${metric} ms`, earlier.latency[metric], figures.latency[metric], 1, noiseMs));
    }
    found.push(comparison(`${of} errors`, errorShare(earlier), errorShare(figures), 1, noiseShare));
  }
  if (before.achievedRate > 0) {
    found.push(comparison(`${name} completed/s`, before.achievedRate, now.achievedRate, -1, 0));
  }
  if (before.cpuMsPerOperation !== null && now.cpuMsPerOperation !== null) {
    found.push(comparison(`${name} CPU ms an operation`, before.cpuMsPerOperation, now.cpuMsPerOperation, 1, 0));
  }
  const isClear = [now, before].every(({ saturation }) => saturation.length === 0);
  return isClear ? found : found.map((each) => (each.verdict === 'same' ? each : { ...each, verdict: 'unclear' }));
}

/** `badWay` 1: more is worse. */
function comparison(name: string, before: number, now: number, badWay: 1 | -1, noise: number): Comparison {
  const ratio = before === 0 ? (now === 0 ? 1 : Number.MAX_VALUE) : now / before;
  const isSame = Math.abs(now - before) <= noise || (ratio < worseFactor && ratio > 1 / worseFactor);
  const verdict = isSame ? 'same' : ratio > 1 === (badWay === 1) ? 'worse' : 'better';
  return { name, before, now, ratio, verdict };
}

function errorShare({ completed, errors }: Figures): number {
  const failed = sumOf(errors);
  return completed + failed === 0 ? 0 : failed / (completed + failed);
}
