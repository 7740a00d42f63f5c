/** Comparisons of runs and of the quarters of a soak. */
import { describe, expect, test } from 'vitest';
import { LatencyHistogram } from '../../../clients/load/measure/histogram.ts';
import { saturation } from '../../../clients/load/measure/self.ts';
import { compare } from '../../../clients/load/report/baseline.ts';
import { driftOf } from '../../../clients/load/report/drift.ts';
import type { LoadReport, SeriesPoint } from '../../../clients/load/report/results.ts';

/** A run of one stage whose operations all took so long. */
function run(ms: number, completedASecond: number, failed = 0, stage = 'load'): LoadReport {
  const histogram = new LatencyHistogram();
  for (let count = 0; count < 100; count += 1) histogram.recordMs(ms);
  const errors = failed === 0 ? {} : { '503': failed };
  const sign = { completed: 100, errors, latency: histogram.latency(), histogram: histogram.encoded() };
  const operations = { sign };
  const result = {
    stage: { name: stage },
    operations,
    achievedRate: completedASecond,
    cpuMsPerOperation: 2,
    saturation: [] as string[],
  };
  return { stages: [result] } as unknown as LoadReport;
}
const verdicts = (now: LoadReport, before: LoadReport) =>
  compare(now, before).map(({ name, verdict }) => [name, verdict]);
const all = [
  'load sign p50 ms',
  'load sign p99 ms',
  'load sign errors',
  'load completed/s',
  'load CPU ms an operation',
];

describe('a run against its baseline', () => {
  test('is the same within a quarter', () => {
    expect(verdicts(run(11, 95), run(10, 100))).toEqual(all.map((name) => [name, 'same']));
  });

  test('is worse when it is slower, does less, or fails more, and better the other way', () => {
    const worse = verdicts(run(20, 50, 5), run(10, 100));
    expect(worse.filter(([, verdict]) => verdict === 'worse').map(([name]) => name)).toEqual(all.slice(0, 4));
    const better = verdicts(run(10, 100), run(20, 50, 5));
    expect(better.filter(([, verdict]) => verdict === 'better').map(([name]) => name)).toEqual(all.slice(0, 4));
  });

  test('is not worse by less than a millisecond', () => {
    expect(verdicts(run(1.2, 100), run(0.5, 100))).toEqual(all.map((name) => [name, 'same']));
  });

  test('is unclear where the generator was saturated', () => {
    const now = run(20, 50, 5);
    (now.stages[0]!.saturation as string[]).push('the cores were full');
    expect(new Set(compare(now, run(10, 100)).map(({ verdict }) => verdict))).toEqual(new Set(['unclear', 'same']));
  });

  test('leaves out operations that one of the two did not complete', () => {
    const before = run(10, 100);
    const { operations } = before.stages[0]! as unknown as { operations: Record<string, object> };
    Object.assign(operations, { read: { ...operations.sign, completed: 0 }, key: operations.sign });
    const now = run(10, 100);
    Object.assign(now.stages[0]!.operations, { read: now.stages[0]!.operations.sign });
    expect(verdicts(now, before)).toEqual(all.map((name) => [name, 'same']));
  });

  test('needs a stage of the same name', () => {
    expect(() => compare(run(1, 1, 0, 'other'), run(1, 1))).toThrow('no stage of the same name');
  });
});

test('a soak that slows down and grows shows it in its last quarter', () => {
  const points = Array.from({ length: 12 }, (_, index) => {
    const processes = { gateway: { cpu: 0.5, rssBytes: 100 + index * 10 }, worker: { cpu: 0, rssBytes: 50 } };
    return { p50: 10 + index, p99: 20 + index, processes } as unknown as SeriesPoint;
  });
  expect(driftOf(points)).toEqual({
    p50: { first: 11, last: 20 },
    p99: { first: 21, last: 30 },
    serviceRssBytes: { first: 160, last: 250 },
  });
  expect(driftOf(points.slice(0, 7))).toBeNull();
});

test('the generator tells its own saturation', () => {
  const calm = { cpuSeconds: 1, rssBytes: 1, utilization: 0.2, lagP99Ms: 2, lagMaxMs: 5, machineBusy: 0.5 };
  expect(saturation(calm, 2)).toEqual([]);
  expect(saturation({ ...calm, utilization: 0.95 }, 2)).toEqual([expect.stringContaining('event loop was 95 % busy')]);
  expect(saturation({ ...calm, machineBusy: 1 }, 2)).toEqual([expect.stringContaining('cores were 100 % busy')]);
  expect(saturation({ ...calm, lagP99Ms: 80 }, 300)).toHaveLength(2);
});
