/**
 * What the Load panel plots, from the figures of the stream and the queues that the page has read: pure, so that each plot and its
 * table have the same numbers.
 */
import type { SandboxQueues } from '../../../client/generated-api.ts';
import type { FigurePoint } from '../shared/store.ts';
import { bytesInWords, cpuInWords, nameInWords } from '../shared/words.ts';

export interface Series {
  readonly name: string;
  /** Of each time; null: not known. */
  readonly values: readonly (number | null)[];
}

export interface LoadPlot {
  readonly title: string;
  readonly atMs: readonly number[];
  readonly series: readonly Series[];
  /** Of each time. */
  readonly faults: readonly (readonly string[])[];
  inWords(value: number): string;
}

/** A read of what waits, at a moment of the page's clock. */
export interface QueuePoint {
  readonly atMs: number;
  readonly queues: SandboxQueues;
}

/** Further ones are left to GET /v1/sandbox/stream. */
const seriesMax = 10;
const rate = (value: number) => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
const ms = (value: number) => `${value.toFixed(1)} ms`;
const whole = (value: number) => Math.round(value).toLocaleString('en');

export function loadPlots(history: readonly FigurePoint[], queues: readonly QueuePoint[]): readonly LoadPlot[] {
  const times = { atMs: history.map(({ atMs }) => atMs), faults: history.map(({ faults }) => faults) };
  const of = (read: (figures: FigurePoint['figures']) => number | null) => history.map(({ figures }) => read(figures));
  const aSecond = (read: (figures: FigurePoint['figures']) => number | undefined) =>
    of((figures) => ((read(figures) ?? 0) * 1_000) / Math.max(1, figures.over_ms));
  const refused = ({ requests }: FigurePoint['figures']) =>
    (requests?.refused ?? []).reduce((sum, { count }) => sum + count, 0);
  const codes = namesIn(history, ({ figures }) => (figures.requests?.refused ?? []).map(({ code }) => code));
  const processes = namesIn(history, ({ figures }) =>
    figures.processes.map(({ processes: names }) => togetherName(names)),
  );
  const usage = (name: string, read: 'cpu' | 'resident_bytes') =>
    of((figures) => figures.processes.find(({ processes: names }) => togetherName(names) === name)?.[read] ?? null);
  return [
    {
      ...{ title: 'Rate, a second', ...times, inWords: rate },
      series: [
        { name: 'requests', values: aSecond(({ requests }) => requests?.answered) },
        { name: 'refused', values: aSecond(refused) },
        { name: 'ceremonies completed', values: aSecond(({ completed }) => completed) },
        { name: 'ceremonies failed', values: aSecond(({ failed }) => failed) },
        { name: 'intended operations', values: of(({ load }) => load?.rate ?? null) },
      ],
    },
    {
      ...{ title: 'Latency', ...times, inWords: ms },
      series: [
        { name: 'request p50', values: of(({ requests }) => requests?.p50_ms ?? null) },
        { name: 'request p99', values: of(({ requests }) => requests?.p99_ms ?? null) },
        { name: 'ceremony p50', values: of(({ p50_ms: value }) => value) },
        { name: 'ceremony p99', values: of(({ p99_ms: value }) => value) },
      ],
    },
    {
      ...{ title: 'Refusals by reason, a second', ...times, inWords: rate },
      series: codes.map((name) => ({
        name,
        values: aSecond(({ requests }) => requests?.refused.find(({ code }) => code === name)?.count),
      })),
    },
    {
      ...{ title: 'CPU, of one core', ...times, inWords: cpuInWords },
      series: processes.map((name) => ({ name, values: usage(name, 'cpu') })),
    },
    {
      ...{ title: 'Memory', ...times, inWords: bytesInWords },
      series: processes.map((name) => ({ name, values: usage(name, 'resident_bytes') })),
    },
    ...queuePlots(queues, history),
  ];
}

function queuePlots(points: readonly QueuePoint[], history: readonly FigurePoint[]): readonly LoadPlot[] {
  const atMs = points.map((point) => point.atMs);
  const faults = atMs.map((at) => history.findLast((point) => point.atMs <= at)?.faults ?? []);
  const times = { atMs, faults, inWords: whole };
  const of = (read: (queues: SandboxQueues) => number | null | undefined) =>
    points.map(({ queues }) => read(queues) ?? null);
  const pools = namesIn(points, ({ queues }) => queues.nonces.map(poolName));
  return [
    {
      ...{ title: 'Queues', ...times },
      series: [
        { name: 'calls to the coordinator', values: of(({ calls }) => calls) },
        { name: 'deliveries waiting', values: of(({ deliveries }) => deliveries?.waiting) },
        { name: 'deliveries active', values: of(({ deliveries }) => deliveries?.active) },
        { name: 'deliveries delayed', values: of(({ deliveries }) => deliveries?.delayed) },
      ],
    },
    {
      ...{ title: 'Nonce pools: the fewest of a node, by scheme', ...times },
      series: pools.map((name) => ({
        name,
        values: of(({ nonces }) => {
          const own = nonces.filter((pool) => poolName(pool) === name).map(({ waiting }) => waiting);
          return own.length === 0 ? null : Math.min(...own);
        }),
      })),
    },
  ];
}

function poolName({ cluster, scheme }: SandboxQueues['nonces'][number]): string {
  return cluster === 1 ? scheme : `cluster ${cluster} ${scheme}`;
}

/** "node 1…5" of nodes that share a process. */
function togetherName(processes: readonly string[]): string {
  const [first = '', ...others] = processes.map(nameInWords);
  const last = others.at(-1);
  return last === undefined ? first : `${first} … ${last}`;
}

/** In order of their first appearance. */
function namesIn<T>(points: readonly T[], read: (point: T) => readonly string[]): readonly string[] {
  return [...new Set(points.flatMap(read))].slice(0, seriesMax);
}

/** The spans in which faults were active, each from the point before. */
export function faultSpans({ atMs, faults }: Pick<LoadPlot, 'atMs' | 'faults'>) {
  const spans: { readonly fault: string; readonly fromMs: number; toMs: number; last: number }[] = [];
  for (const [index, active] of faults.entries()) {
    for (const fault of active) {
      const open = spans.find((span) => span.fault === fault && span.last === index - 1);
      if (open === undefined)
        spans.push({ fault, fromMs: atMs[Math.max(0, index - 1)]!, toMs: atMs[index]!, last: index });
      else Object.assign(open, { toMs: atMs[index]!, last: index });
    }
  }
  return spans;
}
