/**
 * The layout: the column and height of each event, and the visible events. Runs in the browser. Searches are binary; blocks find
 * events that reach into the visible part from above.
 */
import { clusterOf, processOf } from './addresses.ts';
import type { RunModel } from './model.ts';
import type { Spans } from './spans.ts';

export interface EventFilter {
  readonly words: string;
  /** Hidden kinds. */
  readonly without: ReadonlySet<string>;
  readonly actor: string;
  readonly session: string;
  readonly fault: string;
}

export interface Layout {
  readonly columns: readonly { readonly name: string; readonly group: string }[];
  /** The number of shown events. */
  readonly shown: number;
  readonly ordinal: boolean;
  readonly scale: number;
  /** Pixels from the first moment to the last. */
  readonly height: number;
  /** By time only: the stretches with events, in order. The time between two of them is drawn short. */
  readonly stretches: readonly Stretch[];
  columnOf(address: string): number;
  /** Columns of a process name; `node/*` is all nodes. */
  columnsOf(target: string): readonly number[];
  yOfRank(rank: number): number;
  isShown(event: number): boolean;
  /** Events that begin, last or arrive between two heights. */
  forEachBetween(top: number, bottom: number, visit: (event: number) => void): void;
  /** The last shown event that begins at or above a height; the first if all are below; -1 if none is shown. */
  eventAt(y: number): number;
  /** The next shown event after `event` (by: 1) or before it (-1) that matches; -1 if there is none. */
  neighbour(event: number, by: 1 | -1, passes?: (event: number) => boolean): number;
}

export interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Where it begins, in pixels. */
  readonly y: number;
}

export function makeLayout(
  model: RunModel,
  spans: Spans,
  filter: EventFilter,
  view: { readonly ordinal: boolean; readonly zoom: number; readonly apart: boolean },
): Layout {
  const { count, startRank, arrivalStart, arrivalRank, rankTime, rankEvent } = model;
  const heightMax = 15_000_000;
  const parts = ['coordinator', 'cluster', 'signing', 'dkg', 'expiry', 'closing'];
  const isCoordinator = (process: string) => process === `${clusterOf(process)}coordinator`;
  const partOf = (address: string): string => {
    const process = processOf(address);
    if (!isCoordinator(process) || !view.apart) return process;
    const cluster = clusterOf(address);
    const first = address.slice(cluster.length).split('/')[0]!;
    return `${cluster}${parts.includes(first) ? first : 'coordinator'}`;
  };

  // Columns: clients, gateway, of each cluster the coordinator or its actors and the nodes by number, and the rest.
  const orderOf = (cluster: string) => Number.parseInt(cluster.slice(8), 10) || 0;
  const clusters = [...new Set(['', ...spans.processNames.map(clusterOf)])];
  clusters.sort((a, b) => orderOf(a) - orderOf(b));
  const seenParts = new Set<string>(clusters.map((cluster) => `${cluster}coordinator`));
  if (view.apart) {
    for (let event = 0; event < count; event += 1)
      for (const name of ['from', 'to', 'address']) {
        const address = model.text(event, name);
        if (address !== '' && isCoordinator(processOf(address))) seenParts.add(partOf(address));
      }
  }
  const nodesOf = (cluster: string) => {
    const nodes = new Set(spans.processNames.filter((name) => name.startsWith(`${cluster}node/`)));
    for (let id = 1; id <= Math.min(model.run.nodes, 100); id += 1) nodes.add(`${cluster}node/${id}`);
    const numberOf = (name: string) => Number.parseInt(name.slice(cluster.length + 5), 10) || 0;
    return [...nodes].sort((a, b) => numberOf(a) - numberOf(b)).map((name) => ({ name, group: '' }));
  };
  const columns = [
    ...(model.kind.includes(model.run.kinds.indexOf('step')) ? [{ name: 'clients', group: '' }] : []),
    { name: 'gateway', group: '' },
    ...clusters.flatMap((cluster) => [
      ...parts
        .map((part) => `${cluster}${part}`)
        .filter((part) => seenParts.has(part))
        .map((name) => ({ name, group: view.apart ? `${cluster}coordinator` : '' })),
      ...nodesOf(cluster),
    ]),
    ...['worker', 'receiver', 'redis']
      .filter((name) => spans.processNames.includes(name))
      .map((name) => ({ name, group: '' })),
  ];
  const indexOfColumn = new Map(columns.map(({ name }, index) => [name, index] as const));
  const columnOf = (address: string) =>
    indexOfColumn.get(partOf(address)) ?? indexOfColumn.get(`${clusterOf(address)}coordinator`)!;

  // The events that the filter keeps.
  const keep = new Uint8Array(count);
  const words = filter.words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const wanteds = words.map((word) => ({
    word,
    marked: Uint8Array.from(model.strings, (text) => (text.toLowerCase().includes(word) ? 1 : 0)),
  }));
  const actorWords = filter.actor.toLowerCase();
  const actorMatches = (address: string) => {
    const own = address.toLowerCase();
    return own === actorWords || own.startsWith(`${actorWords}/`) || processOf(address) === actorWords;
  };
  const known = new Map<string, boolean>();
  const isActor = (address: string) => {
    let matches = known.get(address);
    if (matches === undefined) {
      matches = address !== '' && actorMatches(address);
      known.set(address, matches);
    }
    return matches;
  };
  const passes = (event: number): boolean => {
    if (filter.without.has(model.kindName(event))) return false;
    const session = model.session[event]!;
    if (filter.session !== '' && (session < 0 || !model.strings[session]!.includes(filter.session))) return false;
    if (
      filter.fault !== '' &&
      model.text(event, 'id') !== filter.fault &&
      !model.list(event, 'faults').includes(filter.fault)
    )
      return false;
    if (
      actorWords !== '' &&
      !isActor(model.origin(event)) &&
      !isActor(model.text(event, 'to')) &&
      !model.list(event, 'targets').some(isActor)
    )
      return false;
    return wanteds.every(({ word, marked }) => model.kindName(event) === word || model.mentions(event, marked));
  };
  const shownEvents = new Uint32Array(count);
  let shown = 0;
  for (let event = 0; event < count; event += 1) {
    if (!passes(event)) continue;
    keep[event] = 1;
    shownEvents[shown] = event;
    shown += 1;
  }
  // The number of kept moments before each rank; and the last rank that reaches out of each block of events.
  const before = new Uint32Array(rankEvent.length + 1);
  for (let rank = 0; rank < rankEvent.length; rank += 1) before[rank + 1] = before[rank]! + keep[rankEvent[rank]!]!;
  const moments = before[rankEvent.length]!;
  const blockSize = 64;
  const blockEnd = new Uint32Array(Math.ceil(shown / blockSize));
  const endRank = new Uint32Array(shown);
  for (let index = 0; index < shown; index += 1) {
    const event = shownEvents[index]!;
    let end = startRank[event]!;
    for (let arrival = arrivalStart[event]!; arrival < arrivalStart[event + 1]!; arrival += 1)
      end = Math.max(end, arrivalRank[arrival]!);
    endRank[index] = end;
    const block = Math.floor(index / blockSize);
    blockEnd[block] = Math.max(blockEnd[block]!, end);
  }

  const wanted = view.ordinal ? 18 * view.zoom : 2 * view.zoom;
  // Time without shown events takes a fixed height once it would take more than this.
  const idleMax = 160;
  const idleHeight = 44;
  const times: number[] = [0];
  if (!view.ordinal)
    for (let rank = 0; rank < rankTime.length; rank += 1) if (keep[rankEvent[rank]!] === 1) times.push(rankTime[rank]!);
  let busyMs = 0;
  for (let index = 1; index < times.length; index += 1)
    busyMs += Math.min(times[index]! - times[index - 1]!, idleMax / wanted);
  const scale = Math.min(wanted, heightMax / Math.max(1, view.ordinal ? moments : busyMs));
  const stretches: { fromMs: number; untilMs: number; y: number }[] = [{ fromMs: 0, untilMs: 0, y: 0 }];
  for (const ms of times) {
    const last = stretches[stretches.length - 1]!;
    if ((ms - last.untilMs) * scale <= idleMax) last.untilMs = Math.max(last.untilMs, ms);
    else stretches.push({ fromMs: ms, untilMs: ms, y: last.y + (last.untilMs - last.fromMs) * scale + idleHeight });
  }
  const yOfTime = (ms: number) => {
    let low = 0;
    let high = stretches.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (stretches[middle]!.fromMs <= ms) low = middle;
      else high = middle;
    }
    const { fromMs, untilMs, y } = stretches[low]!;
    const next = stretches[low + 1];
    if (ms <= untilMs || next === undefined) return y + (Math.min(ms, untilMs) - fromMs) * scale;
    return y + (untilMs - fromMs) * scale + ((ms - untilMs) / (next.fromMs - untilMs)) * idleHeight;
  };
  const timeY = new Float64Array(view.ordinal ? 0 : rankTime.length);
  for (let rank = 0; rank < timeY.length; rank += 1) timeY[rank] = yOfTime(rankTime[rank]!);
  const yOfRank = (rank: number) =>
    view.ordinal ? before[Math.min(rank, rankTime.length)]! * scale : (timeY[Math.min(rank, timeY.length - 1)] ?? 0);
  /** The first index below `length` at which `reached` holds, where it holds for every index from some index on. */
  const search = (length: number, reached: (index: number) => boolean) => {
    let low = 0;
    let high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reached(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const indexFrom = (event: number) => search(shown, (index) => shownEvents[index]! >= event);
  return {
    columns,
    shown,
    ordinal: view.ordinal,
    scale,
    height: view.ordinal ? moments * scale : yOfTime(Number.POSITIVE_INFINITY),
    stretches: view.ordinal ? [] : stretches,
    columnOf,
    columnsOf: (target) => {
      if (target.endsWith('node/*'))
        return columns.flatMap(({ name }, index) => (name.startsWith(target.slice(0, -1)) ? [index] : []));
      if (isCoordinator(target) && view.apart)
        return columns.flatMap(({ group }, index) => (group === target ? [index] : []));
      const index = indexOfColumn.get(target);
      return index === undefined ? [] : [index];
    },
    yOfRank,
    isShown: (event) => keep[event] === 1,
    forEachBetween: (top, bottom, visit) => {
      const until = search(shown, (index) => yOfRank(startRank[shownEvents[index]!]!) > bottom);
      for (let block = 0; block * blockSize < until; block += 1) {
        if (yOfRank(blockEnd[block]!) < top) continue;
        const last = Math.min(until, (block + 1) * blockSize);
        for (let index = block * blockSize; index < last; index += 1)
          if (yOfRank(endRank[index]!) >= top) visit(shownEvents[index]!);
      }
    },
    eventAt: (y) => {
      if (shown === 0) return -1;
      const index = search(shown, (each) => yOfRank(startRank[shownEvents[each]!]!) > y);
      return shownEvents[Math.max(0, index - 1)]!;
    },
    neighbour: (event, by, accepts = () => true) => {
      const from = indexFrom(event);
      const first = by < 0 ? from - 1 : shownEvents[from] === event && from < shown ? from + 1 : from;
      for (let index = first; index >= 0 && index < shown; index += by)
        if (accepts(shownEvents[index]!)) return shownEvents[index]!;
      return -1;
    },
  };
}
