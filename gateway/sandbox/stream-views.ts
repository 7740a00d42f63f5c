/** What the supervisor gives for a stream, as the messages show it. */
import type { SandboxWorld, SeenSession, StreamPosition, StreamTopic, Totals } from '../../scenarios/faults/stream.ts';
import type { RequestLog } from './request-log.ts';
import type { StreamFiguresValue, StreamHelloValue, StreamSessionValue } from './stream-schemas.ts';

const noDeliveries =
  'workers of a process cluster deliver directly, and the fault injector sees no delivery: read ' +
  'GET /v1/webhooks/:id/deliveries, or use `signmesh up --embedded`';

/** Of these topics. */
export function missingIn(world: SandboxWorld['world'], topics: readonly StreamTopic[]): StreamHelloValue['missing'] {
  return world === 'process' && topics.includes('deliveries') ? [{ topic: 'deliveries', why: noDeliveries }] : [];
}

export function sessionView(seen: SeenSession, culprits: readonly number[]): StreamSessionValue {
  const { tenant, session, kind, cluster, state, reasonCode, attempt, frames, beganMs, lastMs, retained } = seen;
  return {
    ...{ tenant, session, kind, cluster, state, reason_code: reasonCode, attempt, nodes: [...seen.nodes] },
    ...{ culprits: [...culprits], faults: [...seen.faults], frames, began_ms: beganMs, last_ms: lastMs, retained },
  };
}

export interface Measured extends Totals {
  readonly atMs: number;
}

/** What the supervisor measured. */
export function figuresBetween(before: Measured, now: Measured): Omit<StreamFiguresValue, 'requests' | 'load'> {
  const overMs = now.atMs - before.atMs;
  const took = now.tookMs.toSorted((one, other) => one - other);
  const of = (count: 'frames' | 'bytes' | 'began' | 'completed' | 'failed') => Math.max(0, now[count] - before[count]);
  return {
    ...{ over_ms: overMs, frames: of('frames'), bytes: of('bytes') },
    ...{ began: of('began'), completed: of('completed'), failed: of('failed') },
    ...{ p50_ms: quantile(took, 0.5), p99_ms: quantile(took, 0.99) },
    processes: now.usage.map(({ processes, cpuMs, residentBytes }) => {
      const earlier = before.usage.find((one) => one.processes[0] === processes[0])?.cpuMs ?? null;
      // A successor of its name has used less.
      const isKnown = cpuMs !== null && earlier !== null && cpuMs >= earlier && overMs > 0;
      return {
        processes: [...processes],
        cpu: isKnown ? (cpuMs - earlier) / overMs : null,
        resident_bytes: residentBytes,
      };
    }),
  };
}

/** How far a page has counted them. */
export interface CountedRequests {
  readonly end: number;
  readonly refused: ReadonlyMap<string, number>;
}

export function countRequests(log: RequestLog): CountedRequests {
  return { end: log.end, refused: new Map(log.refused) };
}

/** Since `before`. Their times are those of the requests that are still kept. */
export function requestsSince(log: RequestLog, before: CountedRequests): StreamFiguresValue['requests'] {
  const took = log.since(before.end).requests.map(({ entry, ending }) => ending.endedMs - entry.startedMs);
  took.sort((one, other) => one - other);
  const refused = [...log.refused].flatMap(([code, count]) => {
    const more = count - (before.refused.get(code) ?? 0);
    return more > 0 ? [{ code, count: more }] : [];
  });
  return { answered: log.end - before.end, refused, p50_ms: quantile(took, 0.5), p99_ms: quantile(took, 0.99) };
}

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? null;
}

/** How far a page has come. */
export interface ReadTo {
  /** undefined: the supervisor was not reached yet. */
  readonly recording: StreamPosition | undefined;
  /** The number of the next request of this gateway; undefined: not known. */
  readonly requests?: number | undefined;
}

/** The recording, the position in it, and the next request. */
export function textOf({ recording, requests = 0 }: ReadTo): string {
  const { beganMs = 0, position = 0 } = recording ?? {};
  return `${beganMs}-${position}-${requests}`;
}

const number = '(0|[1-9][0-9]{0,15})';
export const placePattern = `^[0-9]{1,15}(\\.[0-9]{1,9})?-${number}(-${number})?$`;

/** Of that pattern. An earlier version gave no request. */
export function placeOf(text: string): ReadTo {
  const [beganMs = 0, position = 0, requests] = text.split('-').map(Number);
  return { recording: beganMs === 0 ? undefined : { beganMs, position }, requests };
}
