/**
 * Spans: processes that are down or paused, active faults, sessions with their states; and the state of any actor at any moment.
 * Each event is seen once, after it was appended. Runs in the browser.
 */
import { type FaultFamily, families, familyOf, processOf } from './addresses.ts';
import type { RunModel } from './model.ts';

/** `until`: the event that ends it; -1: none. */
export interface EventSpan {
  readonly from: number;
  until: number;
}
export interface ProcessSpan extends EventSpan {
  readonly process: string;
  readonly what: 'down' | 'paused' | 'linkDown';
}
export interface FaultSpan extends EventSpan {
  readonly id: string;
  readonly fault: string;
  readonly family: FaultFamily;
  readonly targets: readonly string[];
  readonly triggers: number[];
  /** The number of frames that it touched, and the first of them; -1: none. */
  frames: number;
  firstFrame: number;
}
export interface SessionSpan {
  readonly name: string;
  /** The index of its lane: sessions that do not overlap share one. */
  lane: number;
  readonly firstRank: number;
  readonly lastRank: number;
  readonly segments: { readonly event: number; readonly state: string; readonly epoch: string }[];
}

export interface Spans {
  /** Sees the events that were appended to the model since. */
  update(): void;
  readonly processes: readonly ProcessSpan[];
  readonly faults: readonly FaultSpan[];
  readonly sessions: readonly SessionSpan[];
  readonly lanes: number;
  readonly violations: readonly number[];
  /** Every process that an event names. */
  readonly processNames: readonly string[];
  readonly actors: readonly string[];
  /** FaultFamily of the first fault that touched a frame, as index into families; 255: none. */
  readonly touched: readonly number[];
  /**
   * The last `state` event of each actor up to and with `event`, by the order of `actors`; -1: none yet, or its process
   * went down since.
   */
  statesAt(event: number): Int32Array;
  processAt(process: string, event: number): string;
  /** Of a `state` event: its actor's previous state; undefined: none was observed. */
  stateBefore(event: number): { readonly state: string; readonly fields: ReadonlyMap<string, string> } | undefined;
}

export function findSpans(model: RunModel): Spans {
  const processes: ProcessSpan[] = [];
  const faults: FaultSpan[] = [];
  const violations: number[] = [];
  const sessions: SessionSpan[] = [];
  const names = new Set<string>();
  const open = new Map<string, ProcessSpan>();
  const openFaults = new Map<string, FaultSpan>();
  const sessionOf = new Map<number, SessionSpan & { lastEvent: number; lastArrival: number }>();
  const actorIndex = new Map<string, number>();
  const actors: string[] = [];
  const stateEvents: number[][] = [];
  const processEvents = new Map<string, number[]>();
  const downEvents = new Map<string, number[]>();
  const processOfActor: string[] = [];
  const previous = new Map<number, number>();
  const touched: number[] = [];
  let lanes = 0;
  /** The last span of a fault, by its id. */
  const spanOfFault = new Map<string, FaultSpan>();

  const begin = (process: string, what: ProcessSpan['what'], event: number) => {
    end(process, what, event);
    const span: ProcessSpan = { process, what, from: event, until: -1 };
    open.set(`${process} ${what}`, span);
    processes.push(span);
  };
  const end = (process: string, what: ProcessSpan['what'], event: number) => {
    const span = open.get(`${process} ${what}`);
    if (span) span.until = event;
    open.delete(`${process} ${what}`);
  };
  const seeProcess = (event: number) => {
    const process = model.text(event, 'process');
    const what = model.text(event, 'what');
    names.add(process);
    if (!processEvents.has(process)) processEvents.set(process, []);
    processEvents.get(process)!.push(event);
    if (what === 'down') {
      downEvents.set(process, [...(downEvents.get(process) ?? []), event]);
      for (const other of ['paused', 'linkDown'] as const) end(process, other, event);
      begin(process, 'down', event);
    }
    if (what === 'up') end(process, 'down', event);
    if (what === 'paused') begin(process, 'paused', event);
    if (what === 'resumed') end(process, 'paused', event);
    if (what === 'linkDown') begin(process, 'linkDown', event);
    if (what === 'linkUp') end(process, 'linkDown', event);
  };
  const seeFault = (event: number) => {
    const id = model.text(event, 'id');
    const what = model.text(event, 'what');
    let span = openFaults.get(id);
    if (!span) {
      const fault = model.text(event, 'fault');
      span = {
        id,
        fault,
        family: familyOf(fault),
        targets: model.list(event, 'targets'),
        from: event,
        until: -1,
        triggers: [],
        frames: 0,
        firstFrame: -1,
      };
      openFaults.set(id, span);
      spanOfFault.set(id, span);
      faults.push(span);
      for (const target of span.targets) if (!target.includes('*')) names.add(target);
    }
    if (what === 'fired') span.triggers.push(event);
    if (what === 'ended') {
      span.until = event;
      openFaults.delete(id);
    }
  };
  const seeSession = (event: number) => {
    const index = model.session[event]!;
    let span = sessionOf.get(index);
    if (!span) {
      const begun = {
        name: model.strings[index]!,
        lane: 0,
        segments: [],
        lastEvent: event,
        lastArrival: -1,
        firstRank: model.startRank[event]!,
        get lastRank(): number {
          return Math.max(model.startRank[begun.lastEvent]!, model.arrivalRank[begun.lastArrival] ?? 0);
        },
      };
      span = begun;
      sessionOf.set(index, span);
      sessions.push(span);
    }
    span.lastEvent = event;
    // Of arrivals at the same time the later one has the higher rank.
    for (let arrival = model.arrivalStart[event]!; arrival < model.arrivalStart[event + 1]!; arrival += 1)
      if (model.arrivalTime[arrival]! >= (model.arrivalTime[span.lastArrival] ?? 0)) span.lastArrival = arrival;
    if (model.kindName(event) !== 'state' || !/^(cluster\/\d+\/)?(signing|dkg)\//.test(model.text(event, 'address')))
      return;
    const epoch = model.fields(event).find(([name]) => name === 'epoch')?.[1] ?? '';
    const state = model.text(event, 'state');
    const last = span.segments.at(-1);
    if (last?.state !== state || last.epoch !== epoch) span.segments.push({ event, state, epoch });
  };

  const see = (event: number) => {
    touched.push(255);
    const kind = model.kindName(event);
    if (kind === 'process') seeProcess(event);
    else if (kind === 'fault') seeFault(event);
    else if (kind === 'violation') violations.push(event);
    else if (kind === 'delivery') {
      names.add('worker');
      names.add('receiver');
    } else if (kind === 'frame') {
      names.add(processOf(model.text(event, 'from')));
      names.add(processOf(model.text(event, 'to')));
      for (const id of model.list(event, 'faults')) {
        const span = spanOfFault.get(id);
        if (touched[event] === 255) touched[event] = families.indexOf(span?.family ?? 'link');
        if (!span) continue;
        if (span.frames === 0) span.firstFrame = event;
        span.frames += 1;
      }
    } else if (kind === 'state' || kind === 'actor') {
      const address = model.text(event, 'address');
      names.add(processOf(address));
      if (kind === 'state') {
        let actor = actorIndex.get(address);
        if (actor === undefined) {
          actor = stateEvents.push([]) - 1;
          processOfActor.push(processOf(address));
          actors.push(address);
          actorIndex.set(address, actor);
        }
        const before = stateEvents[actor]!.at(-1);
        if (before !== undefined) previous.set(event, before);
        stateEvents[actor]!.push(event);
      }
    }
    if (model.session[event]! >= 0) seeSession(event);
  };
  /** Sessions begin in order: each takes the first lane whose last session is over. */
  const placeSessions = () => {
    const busyUntil: number[] = [];
    for (const span of sessions) {
      let lane = busyUntil.findIndex((rank) => rank < span.firstRank);
      if (lane < 0) lane = busyUntil.length;
      busyUntil[lane] = span.lastRank;
      span.lane = lane;
    }
    lanes = busyUntil.length;
  };
  const update = () => {
    for (let event = touched.length; event < model.count; event += 1) see(event);
    placeSessions();
  };
  update();

  /** The last of sorted events that is not after `event`; -1: none. */
  const lastUpTo = (events: readonly number[], event: number): number => {
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle]! <= event) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? -1 : events[low - 1]!;
  };
  return {
    update,
    processes,
    faults,
    sessions,
    get lanes() {
      return lanes;
    },
    violations,
    get processNames() {
      return [...names];
    },
    actors,
    touched,
    statesAt: (event) => {
      const downs = new Map([...downEvents].map(([process, events]) => [process, lastUpTo(events, event)] as const));
      return Int32Array.from(stateEvents, (events, actor) => {
        const last = lastUpTo(events, event);
        return last < (downs.get(processOfActor[actor]!) ?? -1) ? -1 : last;
      });
    },
    stateBefore: (event) => {
      const before = previous.get(event);
      if (before === undefined) return undefined;
      return { state: model.text(before, 'state'), fields: new Map(model.fields(before)) };
    },
    processAt: (process, event) => {
      const last = lastUpTo(processEvents.get(process) ?? [], event);
      if (last < 0) return 'up';
      const of = (what: string) =>
        processes.some(
          (span) =>
            span.process === process &&
            span.what === what &&
            span.from <= event &&
            (span.until < 0 || span.until > event),
        );
      return of('down') ? 'down' : of('paused') ? 'paused' : of('linkDown') ? 'cut off' : 'up';
    },
  };
}
