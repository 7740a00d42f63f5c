/** What is counted of a run, and its latencies. */
import { expect, test } from 'vitest';
import { LatencyHistogram } from '../../../clients/load/measure/histogram.ts';
import { LoadRecorder } from '../../../clients/load/measure/recorder.ts';

test('a stage counts what was due, sent, ended and ended in its time: in all, by operation and by endpoint', () => {
  const recorder = new LoadRecorder(2);
  for (const latenessMs of [0, 1, 2]) recorder.sent(0, latenessMs);
  recorder.unsent(0);
  recorder.sent(1, 0);
  recorder.operation(0, 'sign', 10, undefined);
  recorder.call(0, 'POST /v1/signing/initiate', 4, undefined);
  expect(recorder.end(0)).toBe(1);
  recorder.operation(0, 'sign', 20, undefined);
  recorder.call(0, 'POST /v1/signing/initiate', 8, undefined);
  const [stage, next] = recorder.stages();
  expect(stage).toMatchObject({ arrived: 4, unsent: 1, unanswered: 1 });
  const counted = { completed: 2, inTime: 1, errors: {} };
  expect(stage).toMatchObject({
    total: counted,
    operations: { sign: counted },
    endpoints: { 'POST /v1/signing/initiate': counted },
  });
  expect(next).toMatchObject({ arrived: 1, unanswered: 1, total: { completed: 0, inTime: 0 }, operations: {} });
});

test('failures are counted by code, refusals for load beside them, and codes beyond 50 as one', () => {
  const recorder = new LoadRecorder(1);
  const codes = ['429 RATE_LIMITED', 'RESOURCE_EXHAUSTED OVERLOADED', '429 QUOTA', '500 INTERNAL'];
  for (const code of codes) recorder.operation(0, 'sign', 5, code);
  for (let index = 0; index < 60; index += 1) recorder.operation(0, 'sign', 5, `code ${index}`);
  const { errors, refused, completed, latency } = recorder.stages()[0]!.total;
  expect({ refused: refused.count, completed, max: latency.max }).toEqual({ refused: 2, completed: 0, max: 0 });
  expect(Object.entries(errors)[0]).toEqual(['other', 14]);
  expect(Object.keys(errors)).toHaveLength(51);
  expect(recorder.errors()).toEqual(errors);
});

test('a point has what happened since the last one', () => {
  const recorder = new LoadRecorder(1);
  recorder.sent(0, 0);
  recorder.unsent(0);
  recorder.operation(0, 'sign', 10, undefined);
  recorder.operation(0, 'sign', 10, '500 INTERNAL');
  const counts = { sent: 1, completed: 1, failed: 1, unsent: 1 };
  expect(recorder.point(1_000, 3)).toEqual({ atMs: 1_000, inFlight: 3, ...counts, p50: 10, p99: 10 });
  const none = { sent: 0, completed: 0, failed: 0, unsent: 0, p50: 0, p99: 0 };
  expect(recorder.point(2_000, 0)).toEqual({ atMs: 2_000, inFlight: 0, ...none });
});

test('no percentile is above the largest latency', () => {
  const histogram = new LatencyHistogram(2);
  histogram.recordMs(123.456);
  const { p50, p90, p99, p999, max } = histogram.latency();
  expect(max).toBeGreaterThanOrEqual(123);
  for (const percentile of [p50, p90, p99, p999]) expect(percentile).toBeLessThanOrEqual(max);
});
