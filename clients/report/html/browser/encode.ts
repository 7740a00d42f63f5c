/**
 * A run in the page's format: one table of strings, and a row of numbers an event. 100,000 events stay below 15 MB.
 *
 * A row is `[kind, atMs, ...values]`; `shapes[kind]` names the values. The first letter of a name is the type of its value: `s`
 * an index into `strings`, `S` several, `n` a number, `N` several, `F` fields (name, JSON of the value, …: indices).
 */
import type { RunEvent } from '../../../../scenarios/faults/recording.ts';
import type { Run } from '../../../../scenarios/runner/world.ts';
import { sortedFields } from '../../plain.ts';
import { verdictInWords } from '../../verdict.ts';
import { makeStrings, type Strings } from './strings.ts';

export type EncodedCell = number | readonly number[];
export type EncodedRow = readonly EncodedCell[];

/** A run; without a verdict the recording of a running cluster. */
export type RecordedRun = Omit<Run, 'verdict'> & { readonly verdict: Run['verdict'] | undefined };

export interface EncodedRun {
  readonly scenario: string;
  readonly nodes: number;
  readonly tookMs: number;
  readonly verdict: string;
  readonly kinds: readonly string[];
  readonly shapes: readonly (readonly string[])[];
  readonly strings: readonly string[];
  /** In order of time. `arrives` are milliseconds after the frame left. */
  readonly rows: readonly EncodedRow[];
}

const shapes = {
  frame: ['sfrom', 'sto', 'spoint', 'stenant', 'ssession', 'nattempt', 'nbytes', 'stext', 'Narrives', 'Sfaults'],
  actor: ['saddress', 'stype', 'slevel', 'Ffields'],
  state: ['saddress', 'sstate', 'Ffields'],
  process: ['sprocess', 'swhat', 'stext'],
  fault: ['sid', 'sfault', 'Stargets', 'swhat', 'stext'],
  step: ['sclient', 'sstep', 'swhat', 'ssession', 'stext'],
  delivery: ['sevent', 'ssession', 'nstatus', 'stext'],
  violation: ['sinvariant', 'stext'],
} as const satisfies Readonly<Record<RunEvent['kind'], readonly string[]>>;

const kinds = Object.keys(shapes) as readonly RunEvent['kind'][];
/** How `encodeEvent` writes: the same for every run. */
export const encoding = { kinds, shapes: kinds.map((kind) => shapes[kind]) };

export function encodeRun(run: RecordedRun): EncodedRun {
  const { strings, indexOf } = makeStrings();
  // Observations of a live run's processes are slightly out of order: sorts them by time, ties in order of observation.
  const events = run.events.toSorted((a, b) => a.atMs - b.atMs);
  return {
    scenario: run.scenario,
    nodes: run.nodes,
    tookMs: run.tookMs,
    verdict: run.verdict === undefined ? '' : verdictInWords(run.verdict).sentence,
    ...encoding,
    strings,
    rows: events.map((event) => encodeEvent(event, indexOf)),
  };
}

/** Its texts go into the table of strings. */
export function encodeEvent(event: RunEvent, indexOf: Strings['indexOf']): EncodedRow {
  return [kinds.indexOf(event.kind), rounded(event.atMs), ...cells(event, indexOf)];
}

function cells(event: RunEvent, indexOf: (text: string) => number): EncodedCell[] {
  switch (event.kind) {
    case 'frame': {
      const { from, to, point, tenant, session, attempt, bytes, text, arrivesMs, faults, atMs } = event;
      const names = [from, to, point ?? '', tenant, session].map(indexOf);
      const after = arrivesMs.map((arrives) => rounded(Math.max(0, arrives - atMs)));
      return [...names, attempt, bytes, indexOf(text), after, faults.map(indexOf)];
    }
    case 'actor':
      return [indexOf(event.address), indexOf(event.type), indexOf(event.level), fieldCells(event.fields, indexOf)];
    case 'state':
      return [indexOf(event.address), indexOf(event.state), fieldCells(event.fields, indexOf)];
    case 'process':
      return [indexOf(event.process), indexOf(event.what), indexOf(event.text)];
    case 'fault':
      return [
        indexOf(event.id),
        indexOf(event.fault),
        event.targets.map(indexOf),
        indexOf(event.what),
        indexOf(event.text),
      ];
    case 'step':
      return [event.client, event.step, event.what, event.session, event.text].map(indexOf);
    case 'delivery':
      return [indexOf(event.event), indexOf(event.session), event.status, indexOf(event.text)];
    case 'violation':
      return [indexOf(event.invariant), indexOf(event.text)];
  }
}

function fieldCells(
  fields: Extract<RunEvent, { kind: 'state' }>['fields'],
  indexOf: (text: string) => number,
): readonly number[] {
  return sortedFields(fields).flatMap(([name, value]) => [indexOf(name), indexOf(JSON.stringify(value))]);
}

/** To the microsecond: shorter in the file, and the source has no better precision. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
