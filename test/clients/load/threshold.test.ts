/** Thresholds: how they are written, and what they mean. */
import { describe, expect, test } from 'vitest';
import { LatencyHistogram } from '../../../clients/load/measure/histogram.ts';
import type { Figures } from '../../../clients/load/measure/recorder.ts';
import { evaluateThresholds, parseThreshold, type Threshold } from '../../../clients/load/plan/threshold.ts';
import { measured } from '../../../clients/load/report/measured.ts';
import type { StageResult } from '../../../clients/load/report/results.ts';

describe('a threshold', () => {
  test.each([
    ['sign.p99<50ms', { of: 'sign', metric: 'p99', comparison: '<', limit: 50, stage: undefined }],
    ['p999 <= 1.5s', { of: undefined, metric: 'p999', comparison: '<=', limit: 1500 }],
    ['errors<0.1%', { metric: 'errors', limit: 0.001 }],
    ['rate>=180', { metric: 'rate', comparison: '>=', limit: 180 }],
    ['sign.share@busy>=80%', { of: 'sign', metric: 'share', stage: 'busy', limit: 0.8 }],
    ['refused@busy<1s', { metric: 'refused', limit: 1000 }],
    ['health<1s', { metric: 'health', limit: 1000 }],
    ['rate>180/s', { metric: 'rate', comparison: '>', limit: 180 }],
    ['SubmitSignatureShare.max@spike<2s', { of: 'SubmitSignatureShare', stage: 'spike', limit: 2000 }],
    ['GET /v1/wallets?limit=10.p50<9ms', { of: 'GET /v1/wallets?limit=10', metric: 'p50', limit: 9 }],
    ['GET /v1/wallets/:id.p50<800us', { of: 'GET /v1/wallets/:id', metric: 'p50', limit: 0.8 }],
  ])('is read: %s', (text, parts) => {
    expect(parseThreshold(text)).toMatchObject(parts);
  });

  test.each([
    ['sign.p99', 'is no threshold'],
    ['sign.p95<5ms', '"p95" is no metric'],
    ['sign.p99<5', 'p99 needs a unit: ms, s, us'],
    ['errors<5ms', 'errors needs a unit: %'],
    ['p99=5ms', 'is no threshold'],
    ['p99<-5ms', 'is no threshold'],
  ])('is refused: %s', (text, why) => {
    expect(parseThreshold(text)).toContain(why);
  });
});

function figures(latencies: readonly number[], errors: Readonly<Record<string, number>> = {}): Figures {
  const histogram = new LatencyHistogram();
  for (const ms of latencies) histogram.recordMs(ms);
  const [completed, latency] = [latencies.length, histogram.latency()];
  const refused = { count: 1, ...latency };
  return { completed, inTime: completed - 1, errors, latency, histogram: histogram.encoded(), refused };
}

function stage(name: string, total: Figures, unsent = 0): StageResult {
  const arrived = total.completed + unsent;
  return {
    ...({ stage: { name, shape: 'constant', rate: 1, forMs: 1000 }, tookMs: 1000, arrived, unsent } as StageResult),
    health: total.latency,
    total,
    operations: { sign: total },
    endpoints: {},
  };
}

describe('evaluation', () => {
  const results = [stage('calm', figures([1, 2, 3])), stage('busy', figures([100, 200], { '503': 3 }), 5)];
  const holds = (text: string) => {
    const [result] = evaluateThresholds([parseThreshold(text) as Threshold], (one) => measured(results, one));
    return [result!.holds, result!.measured];
  };

  test('merges the stages, or takes the one that is named', () => {
    expect(holds('sign.max<150ms')).toEqual([false, expect.closeTo(200, 0)]);
    expect(holds('sign.max@calm<150ms')).toEqual([true, expect.closeTo(3, 2)]);
    expect(holds('sign.p50<=4ms')[0]).toBe(true);
  });

  test('counts errors, what was not sent, and the rate over the time of the stages', () => {
    expect(holds('errors<30%')).toEqual([false, 3 / 8]);
    expect(holds('errors@calm<0.1%')).toEqual([true, 0]);
    expect(holds('unsent<60%')).toEqual([true, 0.5]);
    expect(holds('rate>=2.5')).toEqual([true, 2.5]);
  });

  test('of an overload compare it with the callers, in the time of the stage, and take the worst stage', () => {
    expect(holds('share@busy>=80%')).toEqual([false, undefined]);
    const callers = stage('callers', figures([1, 1, 1, 1, 1]));
    const closed = { ...callers, stage: { ...callers.stage, shape: 'closed', callers: 1 } as StageResult['stage'] };
    const share = { ...(parseThreshold('sign.share@busy>=80%') as Threshold) };
    expect(measured([closed, ...results], share)).toBe(1 / 4);
    expect(holds('refused<1s')).toEqual([true, expect.closeTo(200, 0)]);
    expect(holds('health@calm<1s')).toEqual([true, expect.closeTo(3, 2)]);
  });

  test.each([
    ['<', [true, false, false]],
    ['<=', [true, true, false]],
    ['>', [false, false, true]],
    ['>=', [false, true, true]],
  ])('by %s, of a figure below, at and above its limit', (comparison, expected) => {
    const [threshold] = [parseThreshold(`rate${comparison}180`) as Threshold];
    expect([179.9, 180, 180.1].map((value) => evaluateThresholds([threshold!], () => value)[0]!.holds)).toEqual(
      expected,
    );
  });

  test('does not hold for what was not measured', () => {
    expect(holds('transfer.p99<1s')).toEqual([false, undefined]);
  });
});

describe('histograms', () => {
  test('give the percentiles of a thousand latencies from 0.1 ms to 100 ms', () => {
    const histogram = new LatencyHistogram();
    for (let tenth = 1; tenth <= 1_000; tenth += 1) histogram.recordMs(tenth / 10);
    expect(histogram.latency()).toEqual({
      mean: expect.closeTo(50.05, 1),
      p50: expect.closeTo(50, 1),
      p90: expect.closeTo(90, 1),
      p99: expect.closeTo(99, 1),
      p999: expect.closeTo(99.9, 1),
      max: expect.closeTo(100, 1),
    });
  });

  test('record from a microsecond to two minutes', () => {
    const histogram = new LatencyHistogram();
    expect(histogram.latency()).toEqual({ mean: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0 });
    histogram.recordMs(0);
    expect(histogram.latency().max).toBe(0.001);
    histogram.recordMs(3_600_000);
    expect(histogram.latency().max / 120_000).toBeCloseTo(1, 2);
    expect([histogram.count, histogram.percentileMs(50)]).toEqual([2, 0.001]);
    histogram.reset();
    expect([histogram.count, histogram.latency().max]).toEqual([0, 0]);
  });

  test('merge to what one histogram of all would say', () => {
    const parts = [figures([1, 5, 9]), figures([100, 2000])];
    const whole = figures([1, 5, 9, 100, 2000]);
    const merged = new LatencyHistogram();
    for (const { histogram } of parts) merged.addEncoded(histogram);
    expect(merged.count).toBe(5);
    // Three significant digits: an encoded value is that of its bucket.
    for (const [name, value] of Object.entries(whole.latency)) {
      const got = merged.latency()[name as keyof typeof whole.latency];
      expect(Math.abs(got - value) / value).toBeLessThan(0.001);
    }
  });
});
