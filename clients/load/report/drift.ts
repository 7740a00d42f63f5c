/** Whether a soak stays flat: its first quarter against its last. */
import type { SeriesPoint, StageDrift } from './results.ts';

/** Fewer points are not enough. */
const pointsMin = 8;

/** Of the points of one stage; null: too few. */
export function driftOf(points: readonly SeriesPoint[]): StageDrift | null {
  if (points.length < pointsMin) return null;
  const quarter = Math.floor(points.length / 4);
  const first = points.slice(0, quarter);
  const last = points.slice(-quarter);
  const pair = (figure: (point: SeriesPoint) => number) => ({
    first: median(first.map(figure)),
    last: median(last.map(figure)),
  });
  return { p50: pair(({ p50 }) => p50), p99: pair(({ p99 }) => p99), serviceRssBytes: pair(serviceRss) };
}

function serviceRss({ processes }: SeriesPoint): number {
  return Object.values(processes).reduce((sum, { rssBytes }) => sum + rssBytes, 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
