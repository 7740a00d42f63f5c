/** The plots of the Load panel: rates, refusals by reason, the windows of faults, queues and pools of nonces. */
import { expect, test } from 'vitest';
import type { SandboxFigures, SandboxQueues } from '../../../clients/client/index.ts';
import { faultSpans, loadPlots } from '../../../clients/console/browser/load/load-plots.ts';
import type { FigurePoint } from '../../../clients/console/browser/shared/store.ts';

const figures = (more: Partial<SandboxFigures> = {}): SandboxFigures => ({
  ...{ over_ms: 500, frames: 0, bytes: 0, began: 0, completed: 20, failed: 1, p50_ms: 4, p99_ms: 9 },
  ...{ requests: null, load: null, processes: [], ...more },
});
const point = (atMs: number, of: SandboxFigures, faults: readonly string[] = []): FigurePoint => ({
  ...{ atMs, figures: of, faults },
});
const refusals = (...refused: readonly (readonly [code: string, count: number])[]) => ({
  requests: {
    answered: 50,
    refused: refused.map(([code, count]) => ({ code, count })),
    ...{ p50_ms: 1, p99_ms: 2 },
  },
});
const waits = (nonces: readonly (readonly [node: number, waiting: number, cluster?: number])[]): SandboxQueues => ({
  ...{ calls: 3, deliveries: null },
  nonces: nonces.map(([node, waiting, cluster = 1]) => ({
    ...{ cluster, node, scheme: 'mock_ecdsa', waiting, awaited: 0 },
  })),
});

const valuesOf = (plots: ReturnType<typeof loadPlots>, title: string) =>
  Object.fromEntries(
    plots.find((plot) => plot.title.startsWith(title))!.series.map(({ name, values }) => [name, values]),
  );

test('rates are a second’s, whatever the time between two points; what is not known is no zero', () => {
  const load = { load: 'l', stage: 's', rate: 40 };
  const history = [
    point(0, figures({ over_ms: 1_000 })),
    point(500, figures({ ...refusals(['overloaded', 5]), load })),
  ];
  expect(valuesOf(loadPlots(history, []), 'Rate')).toEqual({
    requests: [0, 100],
    refused: [0, 10],
    'ceremonies completed': [20, 40],
    'ceremonies failed': [1, 2],
    'intended operations': [null, 40],
  });
  expect(valuesOf(loadPlots(history, []), 'Latency')).toMatchObject({
    ...{ 'request p99': [null, 2], 'ceremony p50': [4, 4] },
  });
});

test('each reason of a refusal has its line, also before it was met first', () => {
  const history = [point(0, figures(refusals(['overloaded', 1]))), point(500, figures(refusals(['rate_limited', 3])))];
  expect(valuesOf(loadPlots(history, []), 'Refusals')).toEqual({ overloaded: [2, 0], rate_limited: [0, 6] });
});

test('nodes of one process are one line', () => {
  const usage = (processes: readonly string[], cpu: number | null) => ({ processes, cpu, resident_bytes: 5 });
  const all = [usage(['node/1', 'node/2'], 0.5), usage(['gateway'], null)];
  expect(valuesOf(loadPlots([point(0, figures({ processes: all }))], []), 'CPU')).toEqual({
    'node 1 … node 2': [0.5],
    gateway: [null],
  });
});

test('of the pools of nonces the emptiest is shown, of each cluster', () => {
  const plots = loadPlots(
    [point(0, figures(), ['crash (flt_1)'])],
    [
      {
        atMs: 5,
        queues: waits([
          [1, 30],
          [2, 4],
          [1, 7, 2],
        ]),
      },
      { atMs: 9, queues: waits([[1, 31]]) },
    ],
  );
  expect(valuesOf(plots, 'Nonce pools')).toEqual({ mock_ecdsa: [4, 31], 'cluster 2 mock_ecdsa': [7, null] });
  expect(valuesOf(plots, 'Queues')).toMatchObject({
    'calls to the coordinator': [3, 3],
    'deliveries waiting': [null, null],
  });
  expect(plots.find(({ title }) => title === 'Queues')!.faults).toEqual([['crash (flt_1)'], ['crash (flt_1)']]);
});

test('a fault is a window for each time that it was active', () => {
  const [one, two] = [['crash (flt_1)'], ['crash (flt_1)', 'slow (flt_2)']];
  const spans = faultSpans({ atMs: [0, 10, 20, 30, 40], faults: [[], one, two, [], one] });
  expect(spans.map(({ fault, fromMs, toMs }) => [fault, fromMs, toMs])).toEqual([
    ['crash (flt_1)', 0, 20],
    ['slow (flt_2)', 10, 20],
    ['crash (flt_1)', 30, 40],
  ]);
});
