/**
 * Each fault does what its definition says, and nothing else happens to frames and processes: it touches only frames that it
 * concerns, from its nth on, in its time, not more often than it may, and with its own effect; one that must trigger does; it hits
 * its targets; a process dies or pauses by a fault alone, and continues with the last pause.
 */
import type { Fault, FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import {
  beginsMs,
  concerns,
  hitsExactly,
  hitsProcesses,
  isAwaited,
  isLie,
  isOfFrames,
  isOfLinks,
  type Passing,
  passingOf,
  triggersMax,
} from './fault-terms.ts';

interface Known {
  readonly id: string;
  readonly fault: Fault;
  readonly beginsMs: number | undefined;
  readonly max: number;
  readonly ofFrames: boolean;
  readonly ofProcesses: boolean;
  /** Frames that it concerns, so far: at most, and surely. */
  seen: number;
  seenSurely: number;
  touched: number;
  fired: number;
  firedMs: number;
  hit: readonly string[];
  /** A frame of that time must have triggered it. */
  mustFireMs: number | undefined;
}

type Frame = Extract<Observation, { kind: 'frame' }>;
type Decided = NonNullable<Frame['decided']>;

const stopping: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'drop',
  'half_open',
  'hold',
  'partition',
  'pause',
  'crash',
  'withhold',
]);
const adding: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'duplicate',
  'stale_replay',
  'early_confirm',
  'reuse_nonce',
  'other_scheme',
]);
const delaying: ReadonlySet<FaultKind> = new Set<FaultKind>(['slow', 'delay', 'reorder']);

export function faultsAsArmed(): Checker {
  const live = new Map<string, Known>();
  const down = new Set<string>();
  /** Processes that a crash has hit at this time, and that were not down. */
  const dying = new Map<string, number>();
  /** When `missing` last looked: what happens at a time is late only after it, so it looks once a time. */
  let lookedMs = Number.NEGATIVE_INFINITY;

  function armed(id: string, fault: Fault, atMs: number): void {
    live.set(id, {
      ...{ id, fault, beginsMs: beginsMs(fault, atMs), max: triggersMax(fault) },
      ...{ ofFrames: isOfFrames(fault.fault), ofProcesses: hitsProcesses(fault.fault) },
      ...{ seen: 0, seenSurely: 0, touched: 0, fired: 0, firedMs: Number.NaN, hit: [], mustFireMs: undefined },
    });
  }

  function fired(id: string, victims: readonly string[], atMs: number): string | undefined {
    const known = live.get(id);
    if (known === undefined) return `${id} triggers and is not armed`;
    const { fault } = known;
    known.mustFireMs = undefined;
    if (!hitsProcesses(fault.fault)) return undefined;
    known.fired += 1;
    known.firedMs = atMs;
    known.hit = victims;
    if (known.fired > known.max)
      return `${id} (${fault.fault}) triggers ${known.fired} times, and may ${known.max} times`;
    if (fault.at?.point !== undefined && known.seen < (fault.at.nth ?? 1)) return `${id} triggers before its frame`;
    if (fault.at?.point === undefined && known.beginsMs !== undefined && atMs !== known.beginsMs)
      return `${id} triggers at ${atMs} ms, and begins at ${known.beginsMs} ms`;
    const exact = hitsExactly(fault);
    if (exact !== undefined && exact.join() !== victims.join()) return `${id} hits ${victims}, and targets ${exact}`;
    if (fault.fault !== 'crash' && fault.fault !== 'rollback') return undefined;
    for (const victim of victims) if (!down.has(victim) && victim !== 'worker') dying.set(victim, atMs);
    return undefined;
  }

  /** What should have happened before this time. */
  function missing(atMs: number): string | undefined {
    if (atMs === lookedMs) return undefined;
    lookedMs = atMs;
    for (const [process, diedMs] of dying) if (diedMs < atMs) return `a crash has hit ${process}, which lives`;
    for (const { id, fault, ofProcesses, fired: times, beginsMs: begins, mustFireMs } of live.values()) {
      if (mustFireMs !== undefined && mustFireMs < atMs) return `${id} (${fault.fault}) did not trigger at its frame`;
      const isTimed = ofProcesses && fault.at?.point === undefined && fault.probability === undefined;
      if (isTimed && times === 0 && begins !== undefined && begins < atMs)
        return `${id} (${fault.fault}) did not trigger at ${begins} ms`;
    }
    return undefined;
  }

  function passed(frame: Passing, { sent, arrivals, faults }: Decided, atMs: number): string | undefined {
    for (const known of live.values()) {
      const wrong = counted(known, frame, faults, atMs);
      if (wrong !== undefined) return wrong;
    }
    if (faults.length === 0 && isUntouched(arrivals, sent)) return undefined;
    const touching: Fault[] = [];
    for (const id of faults) {
      const known = live.get(id);
      if (known === undefined) return `${id} touches a frame and is not armed`;
      const wrong = touches(known, frame, atMs);
      if (wrong !== undefined) return `${id} (${known.fault.fault}) touches ${frame.point} of ${frame.peer}: ${wrong}`;
      touching.push(known.fault);
    }
    return effect(touching, arrivals, (arrival) => arrival.envelope !== sent);
  }

  /** Counts the frame for this fault, and finds that it must touch it or trigger at it. */
  function counted(known: Known, frame: Passing, faults: readonly string[], atMs: number): string | undefined {
    const { id, fault, max } = known;
    if (known.ofProcesses && isAwaited(fault, frame)) {
      if (known.beginsMs !== undefined && atMs < known.beginsMs) return undefined;
      known.seen += 1;
      const isSure =
        known.beginsMs !== undefined &&
        fault.probability === undefined &&
        fault.at?.after_ms === undefined &&
        known.fired === 0;
      if (isSure && known.seen >= (fault.at?.nth ?? 1) && max === 1) known.mustFireMs ??= atMs;
    }
    if (fault.fault === 'partition') {
      const ends = known.firedMs + (fault.for_ms ?? Number.POSITIVE_INFINITY);
      const holds = known.fired > 0 && atMs > known.firedMs && atMs < ends;
      return holds && concerns(fault, frame) && faults.length === 0 ? `${id} (partition) lets a frame pass` : undefined;
    }
    if (!known.ofFrames || !concerns(fault, frame)) return undefined;
    known.seen += 1;
    const others = faults.some((other) => other !== id);
    if (others || known.beginsMs === undefined || atMs <= known.beginsMs) return undefined;
    known.seenSurely += 1;
    const ends = known.beginsMs + (fault.for_ms ?? Number.POSITIVE_INFINITY);
    const isCertain = isOfLinks(fault.fault) && fault.probability === undefined && fault.at?.session === undefined;
    if (!isCertain || faults.includes(id) || atMs >= ends || known.touched >= max) return undefined;
    if (known.seenSurely < (fault.at?.nth ?? 1)) return undefined;
    return `${id} (${fault.fault}) leaves ${frame.point} of ${frame.peer} as it is`;
  }

  function touches(known: Known, frame: Passing, atMs: number): string | undefined {
    const { fault, max } = known;
    known.touched += 1;
    if (fault.fault === 'crash' || fault.fault === 'pause') return undefined;
    if (!concerns(fault, frame)) return 'it does not concern it';
    if (!known.ofFrames) return undefined;
    if (known.touched > max) return `for the ${known.touched}th time of ${max}`;
    if (known.seen < (fault.at?.nth ?? 1)) return `as number ${known.seen}, too early`;
    if (known.beginsMs === undefined) return undefined;
    if (atMs < known.beginsMs) return 'before it begins';
    return fault.for_ms !== undefined && atMs > known.beginsMs + fault.for_ms ? 'after its end' : undefined;
  }

  function pausing(process: string, atMs: number): Known[] {
    return [...live.values()].filter(({ fault, hit, fired: times, firedMs }) => {
      if (fault.fault !== 'pause' || times === 0 || !hit.includes(process)) return false;
      return atMs < firedMs + (fault.for_ms ?? Number.POSITIVE_INFINITY);
    });
  }

  function process({ process: name, what, atMs }: Extract<Observation, { kind: 'process' }>): string | undefined {
    if (what === 'up') down.delete(name);
    if (what === 'down') {
      down.add(name);
      dying.delete(name);
    }
    if (what === 'paused' && pausing(name, atMs).length === 0) return `${name} pauses without a fault`;
    if (what === 'resumed' && pausing(name, atMs).length > 1) return `${name} continues, and two pauses hold it`;
    return undefined;
  }

  return {
    invariant: 'fault-as-armed',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'fault': {
          const { id, what, definition, targets, atMs } = observation;
          if (what === 'armed' && definition !== undefined) armed(id, definition, atMs);
          else if (what === 'fired') return fired(id, targets, atMs);
          else if (what === 'ended') live.delete(id);
          return undefined;
        }
        case 'healed':
          live.clear();
          dying.clear();
          return undefined;
        case 'process':
          return process(observation);
        case 'frame': {
          const { envelope, decided, atMs } = observation;
          if (live.size === 0 && dying.size === 0) return undefined;
          const late = missing(atMs);
          if (late !== undefined || decided === undefined) return late;
          const frame = passingOf(decided.sent ?? envelope);
          return frame && passed(frame, decided, atMs);
        }
        default:
          return undefined;
      }
    },
  };
}

/** Most frames: the one that was sent arrives, once, whole and at once. */
function isUntouched(arrivals: Decided['arrivals'], sent: Decided['sent']): boolean {
  const [only, ...others] = arrivals;
  if (only === undefined || others.length > 0) return false;
  return only.envelope === sent && only.damage === undefined && only.afterMs === 0;
}

/** The effects of the faults that touched a frame, on its arrivals. */
function effect(
  touching: readonly Fault[],
  arrivals: Decided['arrivals'],
  isChanged: (arrival: Decided['arrivals'][number]) => boolean,
): string | undefined {
  const has = (test: (kind: FaultKind) => boolean) => touching.some(({ fault }) => test(fault));
  const differs = (is: boolean, may: boolean, what: string) =>
    is && !may ? `a frame ${what}, and no fault does that` : undefined;
  const kinds = touching.map(({ fault }) => fault).join(', ');
  if (arrivals.length === 0)
    return differs(
      true,
      has((kind) => stopping.has(kind)),
      'is lost',
    );
  if (has((kind) => stopping.has(kind))) return `a frame arrives in spite of ${kinds}`;
  const isDamaged = arrivals.some(({ damage }) => damage !== undefined);
  if (!isDamaged && has((kind) => kind === 'corrupt' || kind === 'truncate'))
    return `a frame arrives whole in spite of ${kinds}`;
  const wrong =
    differs(
      arrivals.length > 1,
      has((kind) => adding.has(kind)),
      'arrives more than once',
    ) ??
    differs(
      isDamaged,
      has((kind) => kind === 'corrupt' || kind === 'truncate'),
      'is damaged',
    ) ??
    differs(
      arrivals.some(({ afterMs }) => afterMs > 0),
      has((kind) => delaying.has(kind)),
      'is late',
    ) ??
    differs(
      arrivals.some(isChanged),
      has((kind) => isLie(kind) || kind === 'force_receipt'),
      'says something else',
    );
  if (wrong !== undefined || touching.length !== 1) return wrong;
  const [fault] = touching as [Fault];
  if (fault.fault === 'duplicate' && arrivals.length !== 1 + (fault.copies ?? 1))
    return `a duplicate arrives ${arrivals.length} times`;
  const byMs =
    fault.fault === 'slow' || (fault.fault === 'delay' && fault.max_ms === undefined) ? fault.by_ms : undefined;
  return byMs !== undefined && arrivals.some(({ afterMs }) => afterMs !== byMs)
    ? `a frame is not ${byMs} ms late`
    : undefined;
}
