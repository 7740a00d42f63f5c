/**
 * What is new for a page that looks at a sandbox (scenarios/faults/stream.ts), filtered, sampled and batched before it crosses a process
 * boundary. It has no state of its pages: each says how far it has come, and nothing happens while none asks.
 */
import { splitName } from '../faults/cluster-names.ts';
import type { ArmedStatus, NodeStatus, ScenarioStatus, StreamGives, StreamTakes } from '../faults/control.ts';
import type { RunEvent } from '../faults/recording.ts';
import { runEventJson } from '../faults/recording-json.ts';
import { type LeftOut, type SandboxWorld, type StreamTopic, type Totals, topicOf } from '../faults/stream.ts';
import { nowMs } from './real-time.ts';
import type { Recording } from './recording.ts';
import { type Entry, seenSession } from './session-book.ts';

export interface StreamSourceOptions {
  readonly recording: Recording;
  readonly beganMs: number;
  readonly about: SandboxWorld;
  readonly processes: () => readonly NodeStatus[];
  readonly faults: () => readonly ArmedStatus[];
  readonly scenario: () => ScenarioStatus | null;
}

/** Of the bytes of a message: the rest is for events. */
const sessionsShare = 0.5;
const tookWithinMs = 1_000;

export class StreamSource {
  readonly #options: StreamSourceOptions;

  constructor(options: StreamSourceOptions) {
    this.#options = options;
  }

  async read(takes: StreamTakes): Promise<StreamGives> {
    const { recording, beganMs } = this.#options;
    const { after, waitMs, whole } = takes;
    const isKnown = after === undefined || after.beganMs === beganMs;
    // A position of another life: what this one still has comes next.
    const from = after === undefined ? recording.end : isKnown ? after.position : 0;
    if (!whole && waitMs > 0 && from >= recording.end) await this.#news(waitMs);
    return this.#read(takes, from, !isKnown);
  }

  #read(takes: StreamTakes, from: number, isLost: boolean): StreamGives {
    const { recording, beganMs, about, processes, faults, scenario } = this.#options;
    const { topics, tenant, bytesMax, whole, figures } = takes;
    const has = (topic: StreamTopic): boolean => topics.includes(topic);
    // The first message has the present state; what came since `after` follows it.
    const { events, positions, next, lost } = recording.read(from, whole ? 0 : Number.POSITIVE_INFINITY);
    const leftOut: LeftOut = {};
    const changed = has('sessions') ? this.#changed(whole ? 0 : from, tenant).map(seenSession) : [];
    const { fit: sessions, bytes } = fitting(changed, (one) => one, bytesMax * sessionsShare);
    if (!whole) note(leftOut, 'sessions', changed.length - sessions.length);
    const candidates = events.flatMap((event, index) => {
      const topic = topicOf[event.kind];
      if (!has(topic) || (tenant !== undefined && !isOf(tenant, event))) return [];
      return [{ event, position: positions[index]!, rank: this.#rank(event) }];
    });
    const ranked = candidates.toSorted((one, other) => one.rank - other.rank);
    const chosen = new Set(fitting(ranked, ({ event }) => runEventJson(event), bytesMax - bytes).fit);
    for (const one of candidates) if (!chosen.has(one)) note(leftOut, topicOf[one.event.kind], 1);
    const sent = candidates.filter((one) => chosen.has(one));
    const changes = (kind: RunEvent['kind']): boolean => whole || events.some((event) => event.kind === kind);
    return {
      about,
      events: sent.map(({ event }) => event),
      positions: sent.map(({ position }) => position),
      sessions: sessions.sort((one, other) => one.beganMs - other.beganMs),
      ...(has('processes') && changes('process') && { processes: processes() }),
      ...(has('faults') && changes('fault') && { faults: faults() }),
      ...(figures && { totals: this.#totals() }),
      scenario: scenario(),
      leftOut,
      lost: isLost || lost,
      next: { beganMs, position: next },
    };
  }

  #totals(): Totals {
    const { recording, beganMs, processes } = this.#options;
    const all = processes();
    const firsts = all.filter(({ pid }, index) => pid !== null && all.findIndex((each) => each.pid === pid) === index);
    const usage = firsts.map(({ pid, residentBytes, cpuMs }) => ({
      ...{ residentBytes, cpuMs, processes: all.filter((each) => each.pid === pid).map(({ process }) => process) },
    }));
    return { ...recording.sessions.totals(nowMs() - beganMs - tookWithinMs), usage };
  }

  /** Resolves with the next event, or after that time. */
  #news(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        stop();
        resolve();
      };
      const timer = setTimeout(end, waitMs).unref();
      const stop = this.#options.recording.watch(end);
    });
  }

  /** Notable ones first, then the newest. */
  #changed(from: number, tenant: string | undefined): Entry[] {
    const all = [...this.#options.recording.sessions.all()];
    const changed = all.filter((entry) => entry.touched >= from && (tenant === undefined || entry.tenant === tenant));
    return changed.sort((one, other) => +other.isNotable - +one.isNotable || other.touched - one.touched);
  }

  /** Lower ones first. Frames go by whole sessions, which stay the same ones from message to message. */
  #rank(event: RunEvent): number {
    if (event.kind !== 'frame') return topicOf[event.kind] === 'sessions' ? 1 : 0;
    if (event.session === '') return 4;
    const entry = this.#options.recording.sessions.find(event.tenant, event.session);
    if (event.faults.length > 0 || entry?.isNotable === true) return 1;
    return 2 + hashOf(event.session);
  }
}

/** Also true of what belongs to no tenant. */
function isOf(tenant: string, event: RunEvent): boolean {
  if (event.kind === 'frame') return event.tenant === tenant;
  if (event.kind !== 'actor' && event.kind !== 'state') return true;
  // Actors of sessions name their tenant: "signing/<tenant>/<session>".
  const parts = splitName(event.address).name.split('/');
  return parts.length <= 2 || parts.includes(tenant);
}

/** The first of them that fit as JSON. */
function fitting<T>(all: readonly T[], shown: (one: T) => unknown, bytesMax: number): { fit: T[]; bytes: number } {
  const fit: T[] = [];
  let bytes = 0;
  for (const one of all) {
    const more = JSON.stringify(shown(one)).length;
    if (bytes + more > bytesMax) break;
    bytes += more;
    fit.push(one);
  }
  return { fit, bytes };
}

function note(leftOut: LeftOut, topic: keyof LeftOut, count: number): void {
  if (count > 0) leftOut[topic] = (leftOut[topic] ?? 0) + count;
}

/** From 0 up to 1. */
function hashOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index += 1) hash = (hash * 31 + text.charCodeAt(index)) >>> 0;
  return hash / 2 ** 32;
}
