/**
 * A run as text for a terminal: one line an event, in fixed columns. The same event always gives the same line, so traces
 * can be compared byte for byte:
 *
 * mark       time  kind       from                          to                            what                      text
 *    *      12.500  frame      node/2                        signing/tn_a/sig_1            partial_reply             …
 *
 * The mark is `*` for a fault and what it touched, `!` for a violation. Times are milliseconds of scenario time. An
 * address too long for its column keeps its beginning and its end; the session is whole in the text.
 */

import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { natures } from '../../scenarios/faults/vocabulary/kinds.ts';
import type { Run } from '../../scenarios/runner/world.ts';
import { fieldsInWords, plain } from './plain.ts';
import { verdictInWords } from './verdict.ts';

export interface TextOptions {
  /** ANSI colours; false by default. */
  readonly colour?: boolean;
}

const widths = { time: 12, kind: 9, address: 28, what: 24 } as const;

interface Columns {
  readonly from: string;
  readonly to: string;
  readonly what: string;
  readonly text: string;
}

/** One line, without its end. Empty trailing columns leave no blanks. */
export function eventLine(event: RunEvent, options: TextOptions = {}): string {
  const { from, to, what, text } = columnsOf(event);
  const mark = markOf(event);
  const line = [
    `${mark}${time(event.atMs).padStart(widths.time)}`,
    event.kind.padEnd(widths.kind),
    clipped(from, widths.address).padEnd(widths.address),
    clipped(to, widths.address).padEnd(widths.address),
    plain(what).padEnd(widths.what),
    plain(text),
  ]
    .join('  ')
    .trimEnd();
  return options.colour ? coloured(line, event, mark) : line;
}

/** Header, events, verdict; each line ends with a newline. */
export function textReport(run: Run, options: TextOptions = {}): string {
  const lines = [...header(run), ''];
  for (const event of run.events) lines.push(eventLine(event, options));
  lines.push('', ...closing(run, options), '');
  return lines.join('\n');
}

/** The summary of a run for a terminal, without its events: verdict, faults, duration and the command that replays it. */
export function verdictText(run: Run, options: TextOptions = {}): string {
  return `${closing(run, options).join('\n')}\n`;
}

function header(run: Run): string[] {
  const { scenario, about, world, seed, nodes, clusters } = run;
  return [
    labelled('scenario', scenario),
    ...(about === '' ? [] : [labelled('about', about.replace(/\s+/g, ' ').trim())]),
    labelled('world', world),
    labelled('seed', seed),
    labelled('nodes', clusters === undefined ? String(nodes) : `${nodes} in each of ${clusters} clusters`),
  ];
}

function closing(run: Run, options: TextOptions): string[] {
  const { kind, sentence, cause, also } = verdictInWords(run.verdict);
  const painted = options.colour ? (text: string) => paint(text, verdictColours[kind]) : (text: string) => text;
  return [
    labelled('verdict', sentence, painted),
    ...(cause === '' ? [] : [labelled('cause', cause)]),
    ...also.map((what) => labelled('also', what)),
    ...faultTallies(run.events).map((tally) => labelled('fault', tally)),
    labelled('took', `${time(run.tookMs)} ms of scenario time, ${run.events.length} events`),
    labelled('replay', run.replay),
  ];
}

function labelled(label: string, text: string, painted = (words: string) => words): string {
  return `${label.padEnd(10)}${painted(plain(text))}`;
}

/**
 * Each fault of the run in the order of its first appearance, and how often it triggered, counted as `trigger_count` is:
 * a fault that touches single frames triggers at each of them.
 */
function faultTallies(events: readonly RunEvent[]): string[] {
  const tallies = new Map<string, { readonly words: string; readonly isOfFrames: boolean; fired: number }>();
  const frames = new Map<string, number>();
  for (const event of events) {
    if (event.kind === 'frame') for (const id of event.faults) frames.set(id, (frames.get(id) ?? 0) + 1);
    if (event.kind !== 'fault') continue;
    const words = `${event.id}: ${event.fault} of ${event.targets.join(', ')}`;
    const tally = tallies.get(event.id) ?? { words, isOfFrames: natureOf(event.fault) === 'frames', fired: 0 };
    if (event.what === 'fired') tally.fired += 1;
    tallies.set(event.id, tally);
  }
  return [...tallies].map(([id, { words, isOfFrames, fired }]) => {
    // A fault of frames has one event a process, at its first trigger there.
    const count = isOfFrames ? Math.max(fired, frames.get(id) ?? 0) : fired;
    return `${words}, triggered ${count === 1 ? 'once' : `${count} times`}`;
  });
}

function natureOf(fault: string): string | undefined {
  return Object.hasOwn(natures, fault) ? natures[fault as keyof typeof natures] : undefined;
}

function columnsOf(event: RunEvent): Columns {
  switch (event.kind) {
    case 'frame':
      return { from: event.from, to: event.to, what: event.point ?? '', text: frameText(event) };
    case 'actor': {
      const level = event.level === 'warn' || event.level === 'error' ? `${event.level}: ` : '';
      return { from: event.address, to: '', what: event.type, text: `${level}${fieldsInWords(event.fields)}` };
    }
    case 'state':
      return { from: event.address, to: '', what: event.state, text: fieldsInWords(event.fields) };
    case 'process':
      return { from: event.process, to: '', what: event.what, text: event.text };
    case 'fault': {
      const what = `${event.fault} ${event.what}`;
      return { from: event.targets.join(','), to: '', what, text: joined(event.id, event.text) };
    }
    case 'step':
      return {
        from: event.client,
        to: '',
        what: `${event.step} ${event.what}`,
        text: joined(event.session, event.text),
      };
    case 'delivery': {
      const text = joined(`status ${event.status}`, event.session, event.text);
      return { from: 'worker', to: 'receiver', what: event.event, text };
    }
    case 'violation':
      return { from: '', to: '', what: event.invariant, text: event.text };
  }
}

function frameText(frame: Extract<RunEvent, { kind: 'frame' }>): string {
  const { atMs, arrivesMs, tenant, session, attempt, bytes, text, faults } = frame;
  const late = arrivesMs.map((arrives) => `+${time(arrives - atMs)}`);
  return joined(
    text,
    session === '' ? '' : `${tenant}/${session}#${attempt}`,
    `${bytes} B`,
    late.length === 0 ? 'lost' : late.join(' '),
    faults.length === 0 ? '' : `by ${faults.join(', ')}`,
  );
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

/** Always three decimals: columns align, and microseconds of a live run are visible. */
function time(ms: number): string {
  return ms.toFixed(3);
}

function clipped(address: string, width: number): string {
  const text = plain(address);
  if (text.length <= width) return text;
  // By code points, so that a surrogate pair is not split.
  const points = [...text];
  const head = Math.floor(width / 2);
  return points.length <= width
    ? text
    : `${points.slice(0, head).join('')}…${points.slice(points.length - (width - head - 1)).join('')}`;
}

type Mark = ' ' | '*' | '!';

function markOf(event: RunEvent): Mark {
  if (event.kind === 'violation') return '!';
  if (event.kind === 'fault') return '*';
  if (event.kind === 'frame' && event.faults.length > 0) return '*';
  return ' ';
}

const colours = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2 } as const;
type Colour = keyof typeof colours;

const kindColours: Readonly<Partial<Record<RunEvent['kind'], Colour>>> = {
  actor: 'dim',
  state: 'cyan',
  step: 'green',
  process: 'yellow',
};
const markColours: Readonly<Record<Mark, Colour | undefined>> = { ' ': undefined, '*': 'yellow', '!': 'red' };
const verdictColours: Readonly<Record<Run['verdict']['kind'], Colour>> = {
  passed: 'green',
  failed: 'red',
  violated: 'red',
  stuck: 'red',
  unsupported: 'yellow',
};

function coloured(line: string, event: RunEvent, mark: Mark): string {
  const colour = markColours[mark] ?? kindColours[event.kind];
  return colour ? paint(line, colour) : line;
}

function paint(text: string, colour: Colour): string {
  return `\u001b[${colours[colour]}m${text}\u001b[0m`;
}
