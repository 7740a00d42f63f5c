/**
 * A run in the page's memory: columns of numbers, to which events are appended. Runs in the browser.
 *
 * A *moment* is a point on the page's vertical axis: each event has one, and each arrival of a frame. `rank` numbers moments in
 * order of time. Arrivals that are later than the last event have ranks that grow with each event before them.
 */
import type { EncodedCell, EncodedRow, EncodedRun } from './encode.ts';
import { makeStrings, type Strings } from './strings.ts';

export interface RunModel {
  readonly run: Omit<EncodedRun, 'rows'>;
  readonly strings: readonly string[];
  readonly count: number;
  readonly at: readonly number[];
  /** Index into `run.kinds`. */
  readonly kind: readonly number[];
  /** Index into strings; -1: none. */
  readonly session: readonly number[];
  /** Where the arrivals of an event begin; there is one more than there are events. */
  readonly arrivalStart: readonly number[];
  readonly arrivalTime: readonly number[];
  readonly startRank: readonly number[];
  readonly arrivalRank: readonly number[];
  readonly rankTime: readonly number[];
  readonly rankEvent: readonly number[];
  /** Events in order of time: one before the last event gets the time of that. */
  append(rows: readonly EncodedRow[]): void;
  kindName(event: number): string;
  /** A recorded value: text, number, or a list of them; undefined: this kind has no value of that name. */
  value(event: number, name: string): string | number | readonly string[] | readonly number[] | undefined;
  /** A value that is a text; empty if there is none. */
  text(event: number, name: string): string;
  list(event: number, name: string): readonly string[];
  fields(event: number): readonly (readonly [string, string])[];
  /** The actor, process or client of the event; for a frame its sender. */
  origin(event: number): string;
  /** A short text: the point of a frame, the state of an actor. */
  title(event: number): string;
  /** Whether any text of the event has its index marked. */
  mentions(event: number, marked: Uint8Array): boolean;
}

export function readModel(json: string): RunModel {
  const { rows, ...run } = JSON.parse(json) as EncodedRun;
  const model = makeModel(run, makeStrings(run.strings));
  model.append(rows);
  return model;
}

/** A model without events, over the strings that their rows will name. */
export function makeModel(run: RunModel['run'], { strings, indexOf }: Strings): RunModel {
  const { kinds, shapes } = run;
  const rows: EncodedRow[] = [];
  const at: number[] = [];
  const kind: number[] = [];
  const session: number[] = [];
  const arrivalStart: number[] = [0];
  const places = shapes.map((shape) => new Map(shape.map((name, index) => [name.slice(1), index + 2] as const)));
  const cell = (event: number, name: string): EncodedCell | undefined => {
    const place = places[kind[event]!]!.get(name);
    return place === undefined ? undefined : rows[event]![place];
  };

  /** The session that an address names, so that an actor's own events belong to it. */
  const sessionOfAddress = (address: string): string => {
    const parts = address.split('/');
    if ((parts[0] === 'signing' || parts[0] === 'dkg') && parts.length >= 3) return parts.slice(2).join('/');
    if (parts[0] === 'node' && parts[2] === 'dkg' && parts.length >= 5) return parts.slice(4).join('/');
    return '';
  };
  const sessionOfIndex = new Map<number, number>();
  /** Actors name the session of an event in a field of that name. */
  const sessionOfFields = (event: number): number | undefined => {
    const fields = cell(event, 'fields') as readonly number[] | undefined;
    for (let index = 0; fields !== undefined && index < fields.length; index += 2) {
      if (strings[fields[index]!] !== 'session') continue;
      const said: unknown = JSON.parse(strings[fields[index + 1]!]!);
      return typeof said === 'string' && said !== '' ? indexOf(said) : undefined;
    }
    return undefined;
  };
  const sessionOf = (event: number): number => {
    const own = (cell(event, 'session') as number | undefined) ?? sessionOfFields(event);
    if (own !== undefined && strings[own] !== '') return own;
    const address = cell(event, 'address') as number | undefined;
    if (address === undefined) return -1;
    let index = sessionOfIndex.get(address);
    if (index === undefined) {
      const name = sessionOfAddress(strings[address]!);
      index = name === '' ? -1 : indexOf(name);
      sessionOfIndex.set(address, index);
    }
    return index;
  };

  const arrivalTime: number[] = [];
  const arrivalEvent: number[] = [];
  const startRank: number[] = [];
  const arrivalRank: number[] = [];
  const rankTime: number[] = [];
  const rankEvent: number[] = [];
  const place = (event: number, time: number): number => {
    rankTime.push(time);
    rankEvent.push(event);
    return rankTime.length - 1;
  };
  /** Arrivals after the last event, in order of time. */
  const ahead: number[] = [];
  const addAhead = (arrival: number) => {
    let index = ahead.length;
    while (index > 0 && arrivalTime[ahead[index - 1]!]! > arrivalTime[arrival]!) index -= 1;
    ahead.splice(index, 0, arrival);
  };
  /** The number of moments whose ranks no further event changes. */
  let settled = 0;
  const add = (row: EncodedRow) => {
    const event = rows.push(row) - 1;
    const time = Math.max(row[1] as number, at[event - 1] ?? 0);
    kind.push(row[0] as number);
    at.push(time);
    session.push(sessionOf(event));
    // An arrival comes right after its own start if it takes no time, else before starts at the same time.
    let due = 0;
    while (due < ahead.length && arrivalTime[ahead[due]!]! <= time) due += 1;
    for (const arrival of ahead.splice(0, due))
      arrivalRank[arrival] = place(arrivalEvent[arrival]!, arrivalTime[arrival]!);
    startRank.push(place(event, time));
    const arrives = (cell(event, 'arrives') ?? []) as readonly number[];
    for (const late of arrives) {
      arrivalEvent.push(event);
      arrivalRank.push(0);
      addAhead(arrivalTime.push(time + late) - 1);
    }
    arrivalStart.push(arrivalTime.length);
  };
  const append: RunModel['append'] = (more) => {
    rankTime.length = settled;
    rankEvent.length = settled;
    for (const row of more) add(row);
    settled = rankTime.length;
    for (const arrival of ahead) arrivalRank[arrival] = place(arrivalEvent[arrival]!, arrivalTime[arrival]!);
  };

  const value: RunModel['value'] = (event, name) => {
    const place = places[kind[event]!]!.get(name);
    if (place === undefined) return undefined;
    const found = rows[event]![place]!;
    const letter = shapes[kind[event]!]![place - 2]![0];
    if (letter === 's') return strings[found as number];
    if (letter === 'S') return (found as readonly number[]).map((index) => strings[index]!);
    return found as number | readonly number[];
  };
  const text: RunModel['text'] = (event, name) => {
    const found = value(event, name);
    return typeof found === 'string' ? found : '';
  };
  const firstOf = (event: number, names: readonly string[]) => {
    for (const name of names) {
      const found = text(event, name);
      if (found !== '') return found;
    }
    return '';
  };
  return {
    run,
    strings,
    get count() {
      return rows.length;
    },
    at,
    kind,
    session,
    arrivalStart,
    arrivalTime,
    startRank,
    arrivalRank,
    rankTime,
    rankEvent,
    append,
    kindName: (event) => kinds[kind[event]!]!,
    value,
    text,
    list: (event, name) => (value(event, name) ?? []) as readonly string[],
    fields: (event) => {
      const found = (cell(event, 'fields') ?? []) as readonly number[];
      return Array.from({ length: found.length / 2 }, (_, index) => {
        const shown: unknown = JSON.parse(strings[found[2 * index + 1]!]!);
        return [strings[found[2 * index]!]!, Array.isArray(shown) ? shown.join(', ') : String(shown)] as const;
      });
    },
    origin: (event) => firstOf(event, ['from', 'address', 'process', 'client']),
    title: (event) => {
      const name = firstOf(event, ['point', 'type', 'state', 'invariant', 'step', 'fault', 'event']);
      const what = text(event, 'what');
      return name === '' || what === '' ? name + what : `${name} ${what}`;
    },
    mentions: (event, marked) => {
      const row = rows[event]!;
      const shape = shapes[kind[event]!]!;
      for (let index = 0; index < shape.length; index += 1) {
        const letter = shape[index]![0];
        const found = row[index + 2]!;
        if (letter === 's' && marked[found as number] === 1) return true;
        if ((letter === 'S' || letter === 'F') && (found as readonly number[]).some((each) => marked[each] === 1))
          return true;
      }
      return false;
    },
  };
}
