/** Load: rates, latencies, refusals, processes, queues and nonce pools over the last minutes, as plots or as the same in tables. */
import type { Client } from '../../../client/index.ts';
import type { ConsoleContext, FollowedData } from '../shared/context.ts';
import type { ConsoleBrowser } from '../shared/dom.ts';
import { makePageRead } from '../shared/page-read.ts';
import { card, choices, code, h, longTable, type Node, quiet, space } from '../shared/ui.ts';
import { ageInWords } from '../shared/words.ts';
import { faultSpans, type LoadPlot, loadPlots, type QueuePoint } from './load-plots.ts';

const readEveryMs = 1_000;
const pointsMax = 600;
const size = { width: 560, height: 150 } as const;
const minutesOffered = [1, 2, 10] as const;

let asTable = false;
let minutes = 2;

interface QueueData extends FollowedData {
  readonly points: readonly QueuePoint[];
  /** Empty: they can be read. */
  readonly problem: string;
}

function followQueues(page: ConsoleBrowser, { sandbox }: Client, changed: () => void): QueueData {
  let points: readonly QueuePoint[] = [];
  let isOver = false;
  const read = makePageRead(() => sandbox.queues({ attemptsMax: 1 }), changed);
  const next = async (): Promise<void> => {
    await read.refresh();
    if (isOver) return;
    if (read.value !== undefined && read.problem === '')
      points = [...points, { atMs: page.performance.now(), queues: read.value }].slice(-pointsMax);
    page.setTimeout(next, readEveryMs);
  };
  void next();
  return {
    get points() {
      return points;
    },
    get problem() {
      return read.problem;
    },
    stop: () => {
      isOver = true;
    },
  };
}

export function loadPanel(context: ConsoleContext): Node {
  const { store, page, changed } = context;
  const queues = context.following(followQueues);
  const nowMs = page.performance.now();
  const sinceMs = nowMs - minutes * 60_000;
  const recent = <T extends { readonly atMs: number }>(points: readonly T[]) =>
    points.filter(({ atMs }) => atMs >= sinceMs);
  const plots = loadPlots(recent(store.history), recent(queues.points));
  return h(
    'div',
    { class: 'panel' },
    card(h('h2', null, 'Generator'), intended(context)),
    h(
      'div',
      { class: 'bar' },
      choices(
        'How much time',
        Object.fromEntries(minutesOffered.map((span) => [`${span} min`, span])),
        minutes,
        (span) => {
          minutes = span;
          changed();
        },
      ),
      space(),
      choices('Show it as', { Plots: false, Tables: true }, asTable, (isTable) => {
        asTable = isTable;
        changed();
      }),
    ),
    queues.problem === '' ? null : h('p', { class: 'notice warn' }, `No queues, no nonce pools: ${queues.problem}`),
    h(
      'div',
      { class: asTable ? 'panel' : 'plots' },
      ...plots.map((plot) =>
        h(
          'section',
          { class: 'card', key: plot.title, 'data-plot': plot.title },
          h('h3', null, plot.title),
          asTable ? plotTable(context, plot, nowMs) : drawnPlot(plot, sinceMs, nowMs),
        ),
      ),
    ),
  );
}

function intended({ store, page }: ConsoleContext): Node {
  const load = store.figures?.load;
  if (load === null || load === undefined)
    return [
      quiet('No generator runs. Start one, and see here what it intends beside what happens:'),
      code(`signmesh load sign --rate 20 --for 1m --url ${page.location.origin} --token "$SIGNMESH_TOKEN"`),
    ];
  const rate =
    load.rate === null ? 'as fast as its callers get answers' : `${load.rate.toFixed(1)} operations a second`;
  return h('p', { id: 'intended' }, h('strong', null, load.load), `, stage ${load.stage}: it intends ${rate}.`);
}

function plotTable(context: ConsoleContext, { title, atMs, series, faults, inWords }: LoadPlot, nowMs: number): Node {
  if (series.length === 0 || atMs.length === 0) return nothing();
  const rows = atMs.map((_, index) => index).reverse();
  return longTable(context, title, ['When', ...series.map(({ name }) => name), 'Faults'], rows, (index) =>
    h(
      'tr',
      { key: atMs[index] },
      h('th', { scope: 'row' }, ageInWords(nowMs - atMs[index]!)),
      ...series.map(({ values }) => h('td', { class: 'number' }, shown(values[index], inWords))),
      h('td', null, faults[index]!.join(', ')),
    ),
  );
}

function shown(value: number | null | undefined, inWords: LoadPlot['inWords']): string {
  return value === null || value === undefined ? '–' : inWords(value);
}

function nothing(): Node {
  return quiet('Nothing in this time.');
}

/** Time to the right, from zero up; active faults are shaded. */
function drawnPlot(plot: LoadPlot, sinceMs: number, nowMs: number): Node {
  const { title, atMs, series, inWords } = plot;
  const known = series.flatMap(({ values }) => values.filter((value) => value !== null));
  if (known.length === 0) return nothing();
  const most = Math.max(...known);
  const x = (ms: number) => (size.width * (ms - sinceMs)) / (nowMs - sinceMs);
  const y = (value: number) => size.height - ((size.height - 18) * value) / (most || 1);
  const latest = series.map(({ name, values }) => `${name} ${shown(values.at(-1), inWords)}`).join(', ');
  const spans = faultSpans(plot);
  return [
    h(
      'svg',
      {
        class: 'plot',
        viewBox: `0 0 ${size.width} ${size.height}`,
        role: 'img',
        'aria-label': `${title}: now ${latest}`,
      },
      ...spans.map(({ fault, fromMs, toMs }) =>
        h(
          'rect',
          { class: 'window', x: x(fromMs), y: 0, width: Math.max(2, x(toMs) - x(fromMs)), height: size.height },
          h('title', null, fault),
        ),
      ),
      h('line', { class: 'axis', x1: 0, x2: size.width, y1: y(most), y2: y(most) }),
      h('line', { class: 'axis', x1: 0, x2: size.width, y1: size.height, y2: size.height }),
      h('text', { class: 'facts', x: 0, y: 12 }, inWords(most)),
      ...series.map(({ values }, index) => h('path', { class: `series s${index}`, d: pathOf(values, atMs, x, y) })),
    ),
    h(
      'ul',
      { class: 'legend' },
      ...series.map(({ name, values }, index) =>
        h(
          'li',
          { key: name },
          h('span', { class: `key s${index}` }),
          `${name} `,
          h('strong', null, shown(values.at(-1), inWords)),
        ),
      ),
      ...[...new Set(spans.map(({ fault }) => fault))].map((fault) =>
        h('li', { key: fault }, h('span', { class: 'key window' }), fault),
      ),
    ),
  ];
}

/** A line for each run of known values. */
function pathOf(
  values: readonly (number | null)[],
  atMs: readonly number[],
  x: (ms: number) => number,
  y: (value: number) => number,
): string {
  return values
    .flatMap((value, index) => {
      if (value === null) return [];
      const begins = index === 0 || values[index - 1] === null;
      return [`${begins ? 'M' : 'L'}${x(atMs[index]!).toFixed(1)} ${y(value).toFixed(1)}`];
    })
    .join('');
}
