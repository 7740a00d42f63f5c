/**
 * The run in the page's memory: columns of numbers, read once. Runs in the browser.
 *
 * A *moment* is a point on the page's vertical axis: each event has one, and each arrival of a frame. `rank` numbers moments in
 * order of time.
 */
import type { EncodedCell, EncodedRun } from './encode.ts';

export interface RunModel {
  readonly run: EncodedRun;
  readonly strings: readonly string[];
  readonly count: number;
  readonly at: Float64Array;
  /** Index into `run.kinds`. */
  readonly kind: Uint8Array;
  /** Index into strings; -1: none. */
  readonly session: Int32Array;
  /** Where the arrivals of an event begin; there is one more than there are events. */
  readonly arrivalStart: Uint32Array;
  readonly startRank: Uint32Array;
  readonly arrivalRank: Uint32Array;
  readonly rankTime: Float64Array;
  readonly rankEvent: Uint32Array;
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
  const run = JSON.parse(json) as EncodedRun;
  const { strings, rows, kinds, shapes } = run;
  const count = rows.length;
  const at = new Float64Array(count);
  const kind = new Uint8Array(count);
  const session = new Int32Array(count).fill(-1);
  const arrivalStart = new Uint32Array(count + 1);
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
  const indexOfString = new Map(strings.map((text, index) => [text, index] as const));
  const sessionOfIndex = new Map<number, number>();
  const sessionName = indexOfString.get('session');
  /** Actors name the session of an event in a field of that name. */
  const sessionOfFields = (event: number): number | undefined => {
    const fields = cell(event, 'fields') as readonly number[] | undefined;
    if (!fields || sessionName === undefined) return undefined;
    for (let index = 0; index < fields.length; index += 2) {
      if (fields[index] !== sessionName) continue;
      const said: unknown = JSON.parse(strings[fields[index + 1]!]!);
      return typeof said === 'string' && said !== '' ? indexOfString.get(said) : undefined;
    }
    return undefined;
  };
  for (let event = 0; event < count; event += 1) {
    const row = rows[event]!;
    kind[event] = row[0] as number;
    at[event] = row[1] as number;
    const arrives = cell(event, 'arrives') as readonly number[] | undefined;
    arrivalStart[event + 1] = arrivalStart[event]! + (arrives?.length ?? 0);
    const own = (cell(event, 'session') as number | undefined) ?? sessionOfFields(event);
    const address = cell(event, 'address') as number | undefined;
    if (own !== undefined && strings[own] !== '') session[event] = own;
    else if (address !== undefined) {
      let index = sessionOfIndex.get(address);
      if (index === undefined) {
        index = indexOfString.get(sessionOfAddress(strings[address]!)) ?? -1;
        if (strings[index] === '') index = -1;
        sessionOfIndex.set(address, index);
      }
      session[event] = index;
    }
  }

  // An arrival comes right after its own start if it takes no time, else before starts at the same time.
  const arrivals = arrivalStart[count]!;
  const arrivalTime = new Float64Array(arrivals);
  const arrivalEvent = new Uint32Array(arrivals);
  for (let event = 0; event < count; event += 1) {
    const first = arrivalStart[event]!;
    if (first === arrivalStart[event + 1]) continue;
    const after = cell(event, 'arrives') as readonly number[];
    for (let copy = 0; copy < after.length; copy += 1) {
      arrivalTime[first + copy] = at[event]! + after[copy]!;
      arrivalEvent[first + copy] = event;
    }
  }
  const inOrder = Uint32Array.from({ length: arrivals }, (_, index) => index).sort(
    (a, b) => arrivalTime[a]! - arrivalTime[b]! || a - b,
  );
  const startRank = new Uint32Array(count);
  const arrivalRank = new Uint32Array(arrivals);
  const rankTime = new Float64Array(count + arrivals);
  const rankEvent = new Uint32Array(count + arrivals);
  let rank = 0;
  let next = 0;
  const place = (event: number, time: number) => {
    rankTime[rank] = time;
    rankEvent[rank] = event;
    rank += 1;
    return rank - 1;
  };
  for (let event = 0; event <= count; event += 1) {
    const until = event < count ? at[event]! : Number.POSITIVE_INFINITY;
    for (; next < arrivals && arrivalTime[inOrder[next]!]! <= until; next += 1) {
      const arrival = inOrder[next]!;
      if (arrivalEvent[arrival]! >= event) break;
      arrivalRank[arrival] = place(arrivalEvent[arrival]!, arrivalTime[arrival]!);
    }
    if (event < count) startRank[event] = place(event, until);
  }

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
    count,
    at,
    kind,
    session,
    arrivalStart,
    startRank,
    arrivalRank,
    rankTime,
    rankEvent,
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
