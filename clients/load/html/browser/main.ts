/**
 * Draws the plots of a load run with uPlot: rates, latencies, operations in progress, CPU. All share one cursor. Faults are
 * shaded; stages begin at dashed lines.
 */
import uPlot from 'uplot';
import type { Columns, PlotData } from './data.ts';

/** The needed browser types: the compiler's own would put a browser's globals into every file of the repository. */
interface Element {
  textContent: string | null;
  readonly clientWidth: number;
  append(child: Element): void;
}
interface Browser {
  readonly document: { getElementById(id: string): Element; createElement(name: string): Element };
  readonly devicePixelRatio: number;
  getComputedStyle(element: unknown): { getPropertyValue(name: string): string };
  addEventListener(type: 'resize', listener: () => void): void;
}
interface Pen {
  fillStyle: string;
  strokeStyle: string;
  font: string;
  save(): void;
  restore(): void;
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  stroke(): void;
  setLineDash(dash: readonly number[]): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
}
interface Plot {
  readonly ctx: Pen;
  readonly bbox: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
  valToPos(value: number, scale: string, canvas: boolean): number;
  setSize(size: { readonly width: number; readonly height: number }): void;
}

const browser = globalThis as unknown as Browser;
const { document } = browser;
const place = document.getElementById('plots');
const data = JSON.parse(document.getElementById('run').textContent ?? '') as PlotData;
const theme = browser.getComputedStyle(place);
const colour = (name: string) => theme.getPropertyValue(`--${name}`);
const palette = [
  '#1f77b4',
  '#ff7f0e',
  '#2ca02c',
  '#d62728',
  '#9467bd',
  '#8c564b',
  '#e377c2',
  '#7f7f7f',
  '#bcbd22',
  '#17becf',
];
const colours: Readonly<Record<string, string>> = {
  ...{ sent: '#7f7f7f', completed: '#2ca02c', failed: '#d62728', unsent: '#ff7f0e', p50: '#1f77b4', p99: '#9467bd' },
};
const height = 220;
const width = () => Math.max(320, place.clientWidth);
/** A fault that triggers once has no length: it is drawn this wide, in screen pixels. */
const faultWidthMin = 2;

function fromZero(_plot: Plot, _min: number, max: number | null): [number, number] {
  return [0, max === null || max === 0 ? 1 : max * 1.05];
}

/** Behind the curves. */
function shade(plot: Plot): void {
  const { ctx, bbox } = plot;
  const at = (seconds: number) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(seconds, 'x', true)));
  const ratio = browser.devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  for (const [index, { name, fromS, toS }] of data.faults.entries()) {
    ctx.fillStyle = 'rgba(214, 39, 40, 0.15)';
    ctx.fillRect(at(fromS), bbox.top, Math.max(faultWidthMin * ratio, at(toS) - at(fromS)), bbox.height);
    ctx.fillStyle = colour('bad');
    ctx.fillText(name, at(fromS) + 3 * ratio, bbox.top + (12 + 12 * (index % 3)) * ratio);
  }
  ctx.strokeStyle = colour('muted');
  ctx.fillStyle = colour('muted');
  ctx.setLineDash([4 * ratio, 4 * ratio]);
  for (const { name, atS } of data.stages) {
    ctx.beginPath();
    ctx.moveTo(at(atS), bbox.top);
    ctx.lineTo(at(atS), bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(name, at(atS) + 3 * ratio, bbox.top + bbox.height - 4 * ratio);
  }
  ctx.restore();
}

function draw(title: string, columns: Columns, isLogarithmic = false): Plot {
  const heading = document.createElement('h2');
  heading.textContent = title;
  const frame = document.createElement('div');
  place.append(heading);
  place.append(frame);
  const names = Object.keys(columns);
  const axis = { stroke: () => colour('muted'), grid: { stroke: () => colour('rule'), width: 1 } };
  const options = {
    width: width(),
    height,
    cursor: { sync: { key: 'load' } },
    scales: { x: { time: false }, y: isLogarithmic ? { distr: 3 } : { range: fromZero } },
    axes: [axis, { ...axis, size: 60 }],
    series: [
      { label: 's' },
      ...names.map((label, index) => ({
        label,
        stroke: colours[label] ?? palette[index % palette.length],
        width: 1.5,
        points: { show: data.atS.length < 3 },
      })),
    ],
    hooks: { drawClear: [shade] },
  };
  const values = [data.atS, ...names.map((name) => columns[name])];
  const Uplot = uPlot as unknown as new (options: object, values: object, frame: Element) => Plot;
  return new Uplot(options, values, frame);
}

const all = [
  draw('Operations a second', data.perSecond),
  draw('Latency of completed operations, ms (logarithmic)', data.latency, true),
  draw('Operations under way', { 'in flight': data.inFlight }),
  draw('CPU, parts of a core', data.cpu),
];
browser.addEventListener('resize', () => {
  for (const plot of all) plot.setSize({ width: width(), height });
});
