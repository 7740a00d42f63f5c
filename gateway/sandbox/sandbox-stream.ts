/**
 * A page's stream of a sandbox, as server-sent events: a `hello`, then a `batch` whenever there is news. It asks the supervisor for what is
 * new when its reader has taken the last message, and not before: a slow reader gets less, and costs no queue. When the supervisor is
 * away it says so, and begins again with a `hello` when it is back.
 */
import type { Cancel, Timers } from '../../core/actors/contract.ts';
import { pause } from '../../core/actors/waiting.ts';
import type { SandboxControl, StreamGives } from '../../scenarios/faults/control.ts';
import { runEventJson } from '../../scenarios/faults/recording-json.ts';
import type { SeenSession, StreamPosition, StreamTopic } from '../../scenarios/faults/stream.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { StreamCaller } from '../api/route.ts';
import { packageVersion } from '../api/version.ts';
import { ask } from './control.ts';
import { faultView } from './fault-schemas.ts';
import { nodeView } from './node-routes.ts';
import { isoTime } from './shared.ts';
import type { StreamPlace } from './stream-places.ts';
import type { StreamBatchValue, StreamHelloValue, StreamSessionValue } from './stream-schemas.ts';
import { figuresBetween, type Measured, missingIn, sessionView, textOf } from './stream-views.ts';

export interface SandboxStreamOptions {
  readonly control: SandboxControl | undefined;
  /** The nodes that a session blames. Never rejects. */
  readonly culpritsOf: (session: SeenSession) => Promise<readonly number[]>;
  readonly timers: Timers;
  readonly caller: StreamCaller;
  readonly place: StreamPlace;
  readonly topics: readonly StreamTopic[];
  readonly tenant: string | undefined;
  readonly after: StreamPosition | undefined;
  readonly times?: Partial<SandboxStreamTimes>;
}

interface SandboxStreamTimes {
  /** Between messages at least. */
  readonly everyMs: number;
  readonly figuresMs: number;
  readonly heartbeatMs: number;
  readonly recheckMs: number;
  /** A reader that takes nothing for this long is disconnected. */
  readonly stallMs: number;
  /** Until the supervisor is asked again. */
  readonly awayMs: number;
}

const defaults: SandboxStreamTimes = {
  everyMs: 100,
  figuresMs: 1_000,
  heartbeatMs: 15_000,
  recheckMs: 30_000,
  stallMs: 30_000,
  awayMs: 2_000,
};
export const bytesPerSecond = 100_000;
/** What a message has besides events and sessions. */
const frameBytes = 600;
export class SandboxStream implements AsyncIterableIterator<string, undefined> {
  readonly #options: SandboxStreamOptions;
  readonly #times: SandboxStreamTimes;
  readonly #texts: AsyncGenerator<string, undefined>;
  readonly #gone: Promise<undefined>;
  #leave!: () => void;
  #isOver = false;
  #cancelStall: Cancel | undefined;
  #place: StreamPosition | undefined;
  /** Bytes that it may send now: a second's worth at most. */
  #bytesLeft = bytesPerSecond;
  #countedMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #admittedMs: number;
  #measured: Measured | undefined;

  constructor(options: SandboxStreamOptions) {
    this.#options = options;
    this.#times = { ...defaults, ...options.times };
    this.#place = options.after;
    this.#countedMs = options.timers.elapsedMs();
    this.#admittedMs = this.#countedMs;
    this.#gone = new Promise((resolve) => {
      this.#leave = () => resolve(undefined);
    });
    this.#texts = this.#messages();
    options.place.join(() => this.#end());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    this.#cancelStall?.();
    const taken = await this.#texts.next();
    const { timers, caller } = this.#options;
    if (taken.done !== true && !this.#isOver) {
      this.#cancelStall = timers.start(this.#times.stallMs, () => {
        this.#end();
        caller.cut();
      });
    }
    return taken;
  }

  /** The reader has gone. Repeatable. */
  async return(): Promise<IteratorResult<string, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  #end(): void {
    this.#isOver = true;
    this.#cancelStall?.();
    this.#leave();
    this.#options.place.leave();
  }

  async *#messages(): AsyncGenerator<string, undefined> {
    const { timers, caller } = this.#options;
    const { heartbeatMs, recheckMs, awayMs } = this.#times;
    yield 'retry: 1000\n\n';
    let supervisor: 'unknown' | 'away' | 'here' = 'unknown';
    let spokeMs = timers.elapsedMs();
    while (!this.#isOver) {
      if (timers.elapsedMs() - this.#admittedMs >= recheckMs) {
        this.#admittedMs = timers.elapsedMs();
        if (!(await caller.stillAdmitted())) break;
      }
      let text: string | undefined;
      try {
        text = await this.#or(supervisor === 'here' ? this.#batch() : this.#hello());
        supervisor = 'here';
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (supervisor !== 'away') text = this.#message(this.#missing(error.message));
        supervisor = 'away';
      }
      if (this.#isOver) break;
      if (text === undefined && timers.elapsedMs() - spokeMs >= heartbeatMs) text = ': heartbeat\n\n';
      if (text !== undefined) {
        spokeMs = timers.elapsedMs();
        yield text;
      }
      if (supervisor === 'away') await this.#or(pause(timers, awayMs));
    }
    this.#end();
    return undefined;
  }

  #or<T>(work: Promise<T>): Promise<T | undefined> {
    return Promise.race([work, this.#gone]);
  }

  async #hello(): Promise<string> {
    const { about, processes = [], faults = [], sessions, lost, next } = await this.#ask(0, true, false);
    const { topics } = this.#options;
    const hello: StreamHelloValue = {
      ...{ kind: 'hello', world: about.world, version: packageVersion(), began_at: isoTime(next.beganMs) },
      clusters: [...about.clusters],
      processes: this.#nodes(processes),
      faults: faults.map(faultView),
      sessions: await this.#sessions(sessions),
      missing: missingIn(about.world, topics),
      ...{ lost, next: textOf(next) },
    };
    return this.#message(hello);
  }

  /** What it can say without a supervisor. */
  #missing(why: string): StreamHelloValue {
    const missing = this.#options.topics.map((topic) => ({ topic, why }));
    const next = this.#place === undefined ? '' : textOf(this.#place);
    return {
      ...{ kind: 'hello', world: 'process', version: packageVersion(), began_at: null, clusters: [] },
      ...{ processes: [], faults: [], sessions: [], missing, lost: false, next },
    };
  }

  /** undefined: there is no news. */
  async #batch(): Promise<string | undefined> {
    const { timers, topics } = this.#options;
    const { everyMs, figuresMs, heartbeatMs } = this.#times;
    const restMs = this.#lastMs + everyMs - timers.elapsedMs();
    if (restMs > 0) await pause(timers, restMs);
    const hasFigures = topics.includes('figures');
    const dueMs = hasFigures ? (this.#measured?.atMs ?? 0) + figuresMs - timers.elapsedMs() : heartbeatMs;
    const gives = await this.#ask(Math.max(0, dueMs), false, hasFigures && dueMs <= 0);
    const { events, positions, sessions, processes, faults, totals, leftOut, lost, next } = gives;
    const figures = totals && this.#figures({ ...totals, atMs: timers.elapsedMs() });
    const isNews =
      events.length + sessions.length > 0 || figures !== undefined || lost || Object.keys(leftOut).length > 0;
    if (!isNews) return undefined;
    const batch: StreamBatchValue = {
      ...{ kind: 'batch', events: events.map(runEventJson), positions: [...positions] },
      ...(sessions.length > 0 && { sessions: await this.#sessions(sessions) }),
      ...(processes !== undefined && { processes: this.#nodes(processes) }),
      ...(faults !== undefined && { faults: faults.map(faultView) }),
      ...(figures !== undefined && { figures }),
      ...{ left_out: { ...leftOut }, lost, next: textOf(next) },
    };
    return this.#message(batch);
  }

  async #ask(waitMs: number, whole: boolean, figures: boolean): Promise<StreamGives> {
    const { control, timers, topics, tenant } = this.#options;
    const nowMs = timers.elapsedMs();
    const earned = ((nowMs - this.#countedMs) * bytesPerSecond) / 1_000;
    this.#bytesLeft = Math.min(bytesPerSecond, this.#bytesLeft + earned);
    this.#countedMs = nowMs;
    const bytesMax = Math.max(0, this.#bytesLeft - frameBytes);
    const gives = await ask(control, 'stream.read', {
      ...{ topics, bytesMax, waitMs, whole, figures },
      ...(tenant !== undefined && { tenant }),
      ...(this.#place !== undefined && { after: this.#place }),
    });
    this.#place = gives.next;
    this.#lastMs = timers.elapsedMs();
    return gives;
  }

  #message(data: StreamHelloValue | StreamBatchValue): string {
    const text = `id: ${data.next}\nevent: ${data.kind}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#bytesLeft -= text.length;
    return text;
  }

  #figures(now: Measured): StreamBatchValue['figures'] {
    const before = this.#measured;
    this.#measured = now;
    return before && figuresBetween(before, now);
  }

  /** By the machine's clock. */
  #nodes(processes: NonNullable<StreamGives['processes']>) {
    return processes.map((process) => nodeView(process, this.#options.timers.epochMs()));
  }

  #sessions(sessions: readonly SeenSession[]): Promise<StreamSessionValue[]> {
    const { culpritsOf } = this.#options;
    return Promise.all(sessions.map(async (seen) => sessionView(seen, await culpritsOf(seen))));
  }
}
