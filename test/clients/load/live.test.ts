/** What is seen while a load runs, and what the report says in a terminal. */
import { expect, test } from 'vitest';
import { planFrom } from '../../../clients/load/command/plan.ts';
import { type LiveProgress, LiveView } from '../../../clients/load/report/live.ts';
import { textOf } from '../../../clients/load/report/text.ts';
import { sampleReport } from './support/report.ts';

const plan = planFrom(['sign'], { rate: 50, for: '20s', threshold: [] }, () => '');
const progress = (second: number): LiveProgress => ({
  stage: 0,
  atMs: second * 1000,
  point: { ...sampleReport([]).series[0]!, inFlight: 7, failed: 2 },
  errors: { '429 RATE_LIMITED': 5, '503 provider_unavailable': 1 },
});

function shown(isTTY: boolean, seconds: number, columns = 100): string {
  let text = '';
  const view = new LiveView({ isTTY, columns, write: (part) => (text += part) }, plan);
  for (let second = 1; second <= seconds; second += 1) view.show(progress(second));
  return text;
}

test('without a terminal there is a plain line each five seconds', () => {
  const lines = shown(false, 11).trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^5 s load: 10\/s, p50 [\d.]+ ms, p99 [\d.]+ ms, 7 in flight, errors: 5 × 429 RATE_LIMITED/);
});

test('a terminal gets the same lines written over, none wider than it is', () => {
  const text = shown(true, 3, 60);
  const [first, ...later] = text.split('\u001b[5A');
  expect(later).toHaveLength(2);
  expect(first).toContain('5 × 429 RATE_LIMITED');
  for (const line of text.replaceAll('\u001b[5A', '').replaceAll('\u001b[2K', '').split('\n'))
    expect(line.length).toBeLessThan(60);
});

test('the report names the service’s rate limit, its remedy, and who is saturated', () => {
  const report = sampleReport([]);
  const limit = { policy: 'signing', quota: 2000, windowS: 10 };
  const [first, ...rest] = report.stages;
  const text = textOf({
    ...report,
    limits: [{ limit, refused: 42 }],
    stages: [{ ...first!, saturation: ['the generator sent late'] }, ...rest],
  });
  expect(text).toContain(
    'THE SERVICE’S RATE LIMIT refused 42 calls: "signing" allows a tenant 2000 calls in 10 s (200/s)',
  );
  expect(text).toContain('SIGNMESH_RATE_LIMIT=off');
  expect(text).toContain('NOT THE SERVICE’S FIGURES: the generator sent late');
  expect(text).toContain('Threshold p99<1ms: MISSED');
});
