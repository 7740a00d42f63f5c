/** What the page knows of the cluster: the newest state of everything, from the messages of the stream. Runs in the browser. */
import type {
  SandboxEvent,
  SandboxFault,
  SandboxFigures,
  SandboxNode,
  SandboxRequestLine,
  SandboxScenario,
  SandboxSession,
  SandboxStreamBatch,
  SandboxStreamHello,
  SandboxStreamSession,
} from '../../../client/generated-api.ts';

export type Connection =
  | { readonly state: 'connecting' | 'live' }
  /** It reconnects. */
  | { readonly state: 'broken'; readonly why: string }
  /** The service wants another token, or has no stream. */
  | { readonly state: 'refused'; readonly why: string; readonly needsToken: boolean };

/** An event with its position in the recording. */
export interface SeenEvent {
  readonly position: number;
  readonly event: SandboxEvent;
}

/** What was measured up to a moment of the page's clock. */
export interface FigurePoint {
  readonly atMs: number;
  readonly figures: SandboxFigures;
  /** Faults that were active, or triggered meanwhile. */
  readonly faults: readonly string[];
}

export interface ConsoleStore {
  connection: Connection;
  readonly hello: SandboxStreamHello | undefined;
  readonly nodes: readonly SandboxNode[];
  readonly faults: readonly SandboxFault[];
  /** By `keyOf`, in order of their beginning. */
  readonly sessions: ReadonlyMap<string, SandboxStreamSession>;
  /** As GET /v1/sandbox/sessions/:id gave them, by `keyOf`; null: it has expired. */
  readonly reads: Map<string, SandboxSession | null>;
  /** Of the gateway that serves this page, the newest last. */
  readonly requests: readonly SandboxRequestLine[];
  readonly figures: SandboxFigures | undefined;
  /** That runs, or ran last; null: none ran. */
  readonly scenario: SandboxScenario | null;
  /** Of the last second in which a ceremony was completed, in milliseconds. */
  readonly latency: { readonly p50: number; readonly p99: number } | undefined;
  /** How long a process has been up now; undefined: it is not. */
  uptimeMs(node: SandboxNode): number | undefined;
  /** Of the whole process that a process is in, as it was measured last. */
  usageOf(process: string): { readonly cpu: number | null; readonly bytes: number | null };
  /** Frames a second, a figure a second, the newest last. */
  readonly rates: readonly number[];
  /** A point a second, the newest last. */
  readonly history: readonly FigurePoint[];
  /** Events that the stream left out, since the page was opened. */
  readonly leftOut: number;
  /** Events were lost while the page was not connected. */
  lost: boolean;
  /** The newest time of an event, in the recording's milliseconds, and when the page saw it. */
  readonly newestMs: number;
  /** Where the stream continues; undefined: from now on. */
  readonly next: string | undefined;
  greet(hello: SandboxStreamHello): void;
  addRequests(more: readonly SandboxRequestLine[]): void;
  /** Gives the events with their positions. */
  take(batch: SandboxStreamBatch): readonly SeenEvent[];
  /** The present time of the recording's clock. */
  nowMs(): number;
}

const sessionsMax = 2_000;
/** As many as a gateway keeps of each of a few tenants. */
const requestsMax = 3_000;
const ratesMax = 60;
const historyMax = 600;

export function keyOf({ tenant, session }: Pick<SandboxStreamSession, 'tenant' | 'session'>): string {
  return `${tenant}/${session}`;
}

/** `clockMs`: the page's clock, which never jumps. */
export function makeStore(clockMs: () => number): ConsoleStore {
  let hello: SandboxStreamHello | undefined;
  let nodes: readonly SandboxNode[] = [];
  let faults: readonly SandboxFault[] = [];
  const sessions = new Map<string, SandboxStreamSession>();
  const reads = new Map<string, SandboxSession | null>();
  let requests: readonly SandboxRequestLine[] = [];
  let figures: SandboxFigures | undefined;
  let scenario: SandboxScenario | null = null;
  let latency: ConsoleStore['latency'];
  let nodesSeenMs = 0;
  let rates: readonly number[] = [];
  let history: readonly FigurePoint[] = [];
  let triggers: ReadonlyMap<string, number> = new Map();
  let leftOut = 0;
  let newest = { ms: 0, seenMs: clockMs() };
  let next: string | undefined;

  const addSessions = (more: readonly SandboxStreamSession[]) => {
    for (const session of more) sessions.set(keyOf(session), session);
    for (const key of sessions.keys()) {
      if (sessions.size <= sessionsMax) break;
      sessions.delete(key);
      reads.delete(key);
    }
  };
  const addRequests = (more: readonly SandboxRequestLine[]) => {
    if (more.length === 0) return;
    const lastId = Number(requests.at(-1)?.id ?? -1);
    // As the stream brings them; a list that was read is put among them.
    if (more.every(({ id }, index) => Number(id) > Number(more[index - 1]?.id ?? lastId)))
      requests = [...requests, ...more].slice(-requestsMax);
    else {
      const all = new Map([...requests, ...more].map((one) => [one.id, one]));
      requests = [...all.values()].sort((one, other) => Number(one.id) - Number(other.id)).slice(-requestsMax);
    }
  };
  const seeTime = (ms: number) => {
    if (ms >= newest.ms) newest = { ms, seenMs: clockMs() };
  };
  // Empty: there is no recording, and nothing to read on from.
  const seePlace = (place: string) => {
    if (place !== '') next = place;
  };
  const store: ConsoleStore = {
    connection: { state: 'connecting' },
    get hello() {
      return hello;
    },
    get nodes() {
      return nodes;
    },
    get faults() {
      return faults;
    },
    sessions,
    reads,
    get requests() {
      return requests;
    },
    get figures() {
      return figures;
    },
    get scenario() {
      return scenario;
    },
    get latency() {
      return latency;
    },
    uptimeMs: ({ uptime_ms: ms }) => (ms === null ? undefined : ms + clockMs() - nodesSeenMs),
    usageOf: (process) => {
      const found = figures?.processes.find(({ processes }) => processes.includes(process));
      const node = nodes.find((one) => one.process === process);
      return { cpu: found?.cpu ?? null, bytes: found?.resident_bytes ?? node?.resident_bytes ?? null };
    },
    get rates() {
      return rates;
    },
    get history() {
      return history;
    },
    get leftOut() {
      return leftOut;
    },
    lost: false,
    get newestMs() {
      return newest.ms;
    },
    get next() {
      return next;
    },
    greet: (message) => {
      // Another recording: the service started again.
      if (hello !== undefined && hello.began_at !== message.began_at) {
        sessions.clear();
        reads.clear();
        newest = { ms: 0, seenMs: clockMs() };
      }
      hello = message;
      nodes = message.processes;
      nodesSeenMs = clockMs();
      faults = message.faults;
      scenario = message.scenario;
      addSessions(message.sessions);
      addRequests(message.requests);
      if (message.began_at !== null) seeTime(Date.now() - Date.parse(message.began_at));
      if (message.lost) store.lost = true;
      seePlace(message.next);
    },
    take: (batch) => {
      if (batch.processes !== undefined) nodesSeenMs = clockMs();
      nodes = batch.processes ?? nodes;
      faults = batch.faults ?? faults;
      scenario = batch.scenario ?? scenario;
      addSessions(batch.sessions ?? []);
      addRequests(batch.requests ?? []);
      if (batch.figures !== undefined) {
        figures = batch.figures;
        const { p50_ms: p50, p99_ms: p99 } = figures;
        if (p50 !== null) latency = { p50, p99: p99 ?? p50 };
        const active = faults.filter(
          (one) => one.state === 'holding' || one.trigger_count > (triggers.get(one.id) ?? 0),
        );
        const point = { atMs: clockMs(), figures, faults: active.map(({ id, fault }) => `${fault.fault} (${id})`) };
        history = [...history, point].slice(-historyMax);
        triggers = new Map(faults.map(({ id, trigger_count: count }) => [id, count]));
        rates = [...rates, (figures.frames * 1_000) / Math.max(1, figures.over_ms)].slice(-ratesMax);
      }
      for (const count of Object.values(batch.left_out)) leftOut += count ?? 0;
      if (batch.lost) store.lost = true;
      seePlace(batch.next);
      const last = batch.events.at(-1);
      if (last !== undefined) seeTime(last.at_ms);
      return batch.events.map((event, index) => ({ event, position: batch.positions[index] ?? -1 }));
    },
    addRequests,
    nowMs: () => newest.ms + (clockMs() - newest.seenMs),
  };
  return store;
}
