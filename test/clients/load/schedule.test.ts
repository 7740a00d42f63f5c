/** Arrivals of open stages: their times follow from the stage alone. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  arrivalTimes,
  expectedArrivals,
  type OpenStage,
  piecesOf,
  rateAt,
  seeded,
  withRate,
} from '../../../clients/load/plan/schedule.ts';

const rates = fc.integer({ min: 1, max: 500 });
const stages: fc.Arbitrary<OpenStage> = fc
  .tuple(fc.integer({ min: 50, max: 5000 }), rates, rates, fc.constantFrom('constant', 'soak', 'ramp', 'spike'))
  .map(([forMs, rate, other, shape]): OpenStage => {
    const base = { name: 'stage', forMs, rate };
    if (shape === 'ramp') return { ...base, shape, rampTo: other };
    if (shape === 'spike') return { ...base, shape, spikeTo: other };
    return { ...base, shape: shape as 'constant' | 'soak' };
  });

/** Arrivals that are expected until `ms`. */
function expectedUntil(stage: OpenStage, ms: number): number {
  return piecesOf(stage).reduce((sum, { beginMs, forMs, a, b }) => {
    const within = Math.min(Math.max(0, ms - beginMs), forMs);
    return sum + a * within + ((b - a) / (2 * forMs)) * within * within;
  }, 0);
}

test.each([
  [3, 100, 300, 1000],
  [0.5, 100, 50, 1000],
  [3, 42.03, 126.1, 1000],
  [10, 20_000, 100_000, 1000],
  [10, 3_000, 20_000, 100_000],
])('%d times %d/s are %d/s in a stage of %d ms, within the limits of a plan', (times, closedRate, rate, forMs) => {
  const stage = { name: 'over', shape: 'times', times, forMs } as const;
  expect(withRate(stage, closedRate)).toEqual({ name: 'over', shape: 'constant', rate, forMs });
});

test('the intended rate at a moment follows the stage, up to its end and no further', () => {
  const ramp = { name: 's', shape: 'ramp', rate: 10, rampTo: 30, forMs: 1_000 } as const;
  expect([0, 500, 1_000, 5_000].map((atMs) => Math.round(rateAt(ramp, atMs)))).toEqual([10, 20, 30, 30]);
  const spike = { name: 's', shape: 'spike', rate: 5, spikeTo: 50, forMs: 3_000 } as const;
  expect([0, 999, 1_500, 2_500].map((atMs) => Math.round(rateAt(spike, atMs)))).toEqual([5, 5, 50, 5]);
});

describe('even arrivals', () => {
  test('come in order, within the stage, and as many as its rate asks for at every moment', () => {
    fc.assert(
      fc.property(stages, fc.double({ min: 0, max: 1, noNaN: true }), (stage, part) => {
        const times = [...arrivalTimes(stage, 'even', () => 0)];
        expect(Math.abs(times.length - expectedArrivals(stage))).toBeLessThanOrEqual(1);
        const isWrong = (atMs: number, index: number) => atMs < (times[index - 1] ?? 0) || atMs >= stage.forMs + 1e-6;
        expect(times.findIndex(isWrong)).toBe(-1);
        const untilMs = part * stage.forMs;
        const arrived = times.filter((atMs) => atMs <= untilMs).length;
        expect(Math.abs(arrived - expectedUntil(stage, untilMs))).toBeLessThanOrEqual(1 + 1e-6);
      }),
      { numRuns: 150 },
    );
  });

  test('of a constant rate are equally far apart', () => {
    const times = [...arrivalTimes({ name: 's', shape: 'constant', rate: 4, forMs: 1000 }, 'even', () => 0)];
    expect(times).toEqual([0, 250, 500, 750]);
  });

  test('of a spike have three times the rate in the second third', () => {
    const stage = { name: 's', shape: 'spike', rate: 10, spikeTo: 30, forMs: 3000 } as const;
    const times = [...arrivalTimes(stage, 'even', () => 0)];
    const between = (from: number, to: number) => times.filter((atMs) => atMs >= from && atMs < to).length;
    expect([between(0, 1000), between(1000, 2000), between(2000, 3000)]).toEqual([10, 30, 10]);
  });

  test('of a ramp that begins at 0 begin late and end dense', () => {
    const times = [...arrivalTimes({ name: 's', shape: 'ramp', rate: 0, rampTo: 100, forMs: 1000 }, 'even', () => 0)];
    expect(times).toHaveLength(50);
    expect(times[1]).toBeCloseTo(Math.sqrt(1 / 50) * 1000, 6);
  });
});

describe('Poisson arrivals', () => {
  test('have the rate of the stage, waits as irregular as chance, and the same times for the same seed', () => {
    const stage = { name: 's', shape: 'constant', rate: 200, forMs: 60_000 } as const;
    const times = [...arrivalTimes(stage, 'poisson', seeded(7))];
    expect(times).toEqual([...arrivalTimes(stage, 'poisson', seeded(7))]);
    expect(times).not.toEqual([...arrivalTimes(stage, 'poisson', seeded(8))]);
    // Five standard deviations of a Poisson count of 12,000.
    expect(Math.abs(times.length - 12_000)).toBeLessThan(5 * Math.sqrt(12_000));
    const waits = times.slice(1).map((atMs, index) => atMs - times[index]!);
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    const variance = waits.reduce((sum, wait) => sum + (wait - mean) ** 2, 0) / waits.length;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
  });
});
