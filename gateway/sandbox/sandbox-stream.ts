/**
 * A page's stream of a sandbox, as server-sent events: a `hello`, then a `batch` whenever there is news. It asks the supervisor for what is
 * new when its reader has taken the last message, and not before: a slow reader gets less, and costs no queue. When the supervisor is
 * away it says so, and begins again with a `hello` when it is back.
 */
import type { Cancel, Timers } from '../../core/actors/contract.ts';
import { pause } from '../../core/actors/waiting.ts';
import { timestamp } from '../../proto/timestamps.ts';
import type { SandboxControl, ScenarioStatus, StreamGives } from '../../scenarios/faults/control.ts';
import { runEventJson } from '../../scenarios/faults/recording-json.ts';
import type { SeenSession, StreamPosition, StreamTopic } from '../../scenarios/faults/stream.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { StreamCaller } from '../api/route.ts';
import { ask } from './control.ts';
import { faultView } from './fault-schemas.ts';
import type { IntendedLoads } from './load-routes.ts';
import { nodeView } from './node-routes.ts';
import type { RequestLog, SeenRequest } from './request-log.ts';
import { lineOf, type RequestLineValue } from './request-views.ts';
import { scenarioView } from './scenario-routes.ts';
import type { StreamPlace } from './stream-places.ts';
import type { StreamBatchValue, StreamHelloValue, StreamSessionValue } from './stream-schemas.ts';
import {
  type CountedRequests,
  countRequests,
  figuresBetween,
  type Measured,
  missingIn,
  type ReadTo,
  requestsSince,
  sessionView,
  textOf,
} from './stream-views.ts';

export interface SandboxStreamOptions {
  /** Of the service. */
  readonly version: string;
  readonly control: SandboxControl | undefined;
  /** The nodes that a session blames. Never rejects. */
  readonly culpritsOf: (session: SeenSession) => Promise<readonly number[]>;
  readonly timers: Timers;
  readonly caller: StreamCaller;
  readonly place: StreamPlace;
  readonly topics: readonly StreamTopic[];
  readonly tenant: string | undefined;
  readonly after: ReadTo | undefined;
  /** Of this gateway; undefined: it keeps none. */
  readonly requests: RequestLog | undefined;
  readonly loads?: IntendedLoads;
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
/** Of the bytes that it may send. */
const requestsShare = 0.4;

export class SandboxStream implements AsyncIterableIterator<string, undefined> {
  readonly #options: SandboxStreamOptions;
  readonly #times: SandboxStreamTimes;
  readonly #texts: AsyncGenerator<string, undefined>;
  readonly #gone: Promise<undefined>;
  #leave!: () => void;
  #isOver = false;
  #cancelStall: Cancel | undefined;
  #place: StreamPosition | undefined;
  #nextRequest: number;
  /** A question to the supervisor that requests overtook. */
  #asked: Promise<StreamGives> | undefined;
  /** Bytes that it may send now: a second's worth at most. */
  #bytesLeft = bytesPerSecond;
  #countedMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #admittedMs: number;
  #measured: Measured | undefined;
  #counted: CountedRequests | undefined;
  /** As it was shown last. */
  #scenario = '';

  constructor(options: SandboxStreamOptions) {
    this.#options = options;
    this.#times = { ...defaults, ...options.times };
    this.#place = options.after?.recording;
    this.#nextRequest = options.after?.requests ?? options.requests?.end ?? 0;
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
        // The gateway has its own requests.
        if (supervisor === 'away') text = this.#requestsAlone();
        else text = this.#message(this.#missing(error.message));
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
    this.#asked = undefined;
    const {
      about,
      processes = [],
      faults = [],
      sessions,
      scenario,
      lost,
    } = this.#heard(await this.#ask(0, true, false));
    this.#newScenario(scenario);
    const { topics } = this.#options;
    const hello: StreamHelloValue = {
      ...{ kind: 'hello', world: about.world, version: this.#options.version },
      began_at: timestamp(this.#place!.beganMs),
      clusters: [...about.clusters],
      processes: this.#nodes(processes),
      faults: faults.map(faultView),
      sessions: await this.#sessions(sessions),
      requests: this.#present(),
      scenario: scenario && scenarioView(scenario),
      missing: missingIn(about.world, topics),
      ...{ lost, next: this.#position() },
    };
    return this.#message(hello);
  }

  /** What it can say without a supervisor. */
  #missing(why: string): StreamHelloValue {
    const missing = this.#options.topics.flatMap((topic) => (topic === 'requests' ? [] : [{ topic, why }]));
    const [requests, next] = [this.#present(), this.#position()];
    return {
      ...{ kind: 'hello', world: 'process', version: this.#options.version, began_at: null, clusters: [] },
      ...{ processes: [], faults: [], sessions: [], requests, scenario: null, missing, lost: false, next },
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
    this.#asked ??= this.#ask(Math.max(0, dueMs), false, hasFigures && dueMs <= 0);
    const given = await this.#orRequests(this.#asked);
    if (given === undefined) return this.#requestsAlone();
    this.#asked = undefined;
    const { events, positions, sessions, processes, faults, totals, scenario, leftOut, lost } = this.#heard(given);
    const ran = this.#newScenario(scenario);
    const figures = totals && this.#figures({ ...totals, atMs: timers.elapsedMs() });
    const news = this.#newRequests();
    const isNews =
      events.length + sessions.length + news.requests.length > 0 ||
      figures !== undefined ||
      ran !== undefined ||
      lost ||
      Object.keys(leftOut).length > 0;
    if (!isNews) return undefined;
    const batch: StreamBatchValue = {
      ...{ kind: 'batch', events: events.map(runEventJson), positions: [...positions] },
      ...(sessions.length > 0 && { sessions: await this.#sessions(sessions) }),
      ...(processes !== undefined && { processes: this.#nodes(processes) }),
      ...(faults !== undefined && { faults: faults.map(faultView) }),
      ...(figures !== undefined && { figures }),
      ...(ran !== undefined && { scenario: scenarioView(ran) }),
      ...(news.requests.length > 0 && { requests: news.requests }),
      left_out: { ...leftOut, ...(news.leftOut > 0 && { requests: news.leftOut }) },
      ...{ lost: lost || news.lost, next: this.#position() },
    };
    return this.#message(batch);
  }

  async #ask(waitMs: number, whole: boolean, figures: boolean): Promise<StreamGives> {
    const { control, topics, tenant } = this.#options;
    return ask(control, 'stream.read', {
      topics: topics.filter((topic) => topic !== 'requests'),
      ...{ bytesMax: this.#bytesNow(), waitMs, whole, figures },
      ...(tenant !== undefined && { tenant }),
      ...(this.#place !== undefined && { after: this.#place }),
    });
  }

  #heard(gives: StreamGives): StreamGives {
    this.#place = gives.next;
    this.#lastMs = this.#options.timers.elapsedMs();
    return gives;
  }

  /** That it may send now. */
  #bytesNow(): number {
    const nowMs = this.#options.timers.elapsedMs();
    const earned = ((nowMs - this.#countedMs) * bytesPerSecond) / 1_000;
    this.#bytesLeft = Math.min(bytesPerSecond, this.#bytesLeft + earned);
    this.#countedMs = nowMs;
    return Math.max(0, this.#bytesLeft - frameBytes);
  }

  /** undefined: it is as it was. */
  #newScenario(scenario: ScenarioStatus | null): ScenarioStatus | undefined {
    const now = JSON.stringify(scenario);
    if (now === this.#scenario || scenario === null) return undefined;
    this.#scenario = now;
    return scenario;
  }

  #position(): string {
    return textOf({ recording: this.#place, requests: this.#nextRequest });
  }

  // --- requests -----------------------------------------------------------------------------------------------------

  get #log(): RequestLog | undefined {
    return this.#options.topics.includes('requests') ? this.#options.requests : undefined;
  }

  /**
   * undefined: a request came, and the supervisor's answer not soon after it; that is still to come. Without the delay, requests
   * that never cease would keep all else back.
   */
  #orRequests(work: Promise<StreamGives>): Promise<StreamGives | undefined> {
    const log = this.#log;
    if (log === undefined) return work;
    // Unheeded, when the stream ends first.
    work.catch(() => undefined);
    return new Promise((resolve, reject) => {
      let cancel: Cancel = () => undefined;
      const overtake = () => {
        stop();
        cancel = this.#options.timers.start(this.#times.everyMs, () => resolve(undefined));
      };
      const stop = log.watch(overtake);
      const end = () => {
        stop();
        cancel();
      };
      work.then(resolve, reject).finally(end);
      if (log.end > this.#nextRequest) overtake();
    });
  }

  #requestsAlone(): string | undefined {
    const { requests, leftOut, lost } = this.#newRequests();
    this.#lastMs = this.#options.timers.elapsedMs();
    if (requests.length + leftOut === 0 && !lost) return undefined;
    const left = leftOut > 0 ? { requests: leftOut } : {};
    const next = this.#position();
    return this.#message({ kind: 'batch', events: [], positions: [], requests, left_out: left, lost, next });
  }

  /** The last ones, for a page that begins. */
  #present(): RequestLineValue[] {
    const log = this.#log;
    if (log === undefined) return [];
    this.#nextRequest = log.end;
    return this.#lines(log.since(0, this.#tenants()).requests).fit;
  }

  #newRequests(): { requests: RequestLineValue[]; leftOut: number; lost: boolean } {
    const log = this.#log;
    if (log === undefined) return { requests: [], leftOut: 0, lost: false };
    const { requests, lost } = log.since(this.#nextRequest, this.#tenants());
    this.#nextRequest = log.end;
    const { fit, leftOut } = this.#lines(requests);
    return { requests: fit, leftOut, lost };
  }

  #tenants(): readonly string[] | undefined {
    const { tenant } = this.#options;
    return tenant === undefined ? undefined : [tenant];
  }

  /** Errors first, then the newest, as far as they fit; oldest first. */
  #lines(requests: readonly SeenRequest[]): { fit: RequestLineValue[]; leftOut: number } {
    const log = this.#options.requests!;
    const bytesMax = this.#bytesNow() * requestsShare;
    const isError = ({ entry, ending }: SeenRequest) => entry.error !== undefined || (ending.status ?? 0) >= 400;
    const ranked = requests.toSorted((one, other) => +isError(other) - +isError(one) || other.number - one.number);
    const fit: RequestLineValue[] = [];
    let bytes = 0;
    for (const seen of ranked) {
      const line = lineOf(log, seen);
      bytes += JSON.stringify(line).length;
      if (bytes > bytesMax) break;
      fit.push(line);
    }
    fit.sort((one, other) => Number(one.id) - Number(other.id));
    return { fit, leftOut: requests.length - fit.length };
  }

  #message(data: StreamHelloValue | StreamBatchValue): string {
    const text = `id: ${data.next}\nevent: ${data.kind}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#bytesLeft -= text.length;
    return text;
  }

  #figures(now: Measured): StreamBatchValue['figures'] {
    const before = this.#measured;
    this.#measured = now;
    const { requests: log, loads } = this.#options;
    const counted = this.#counted;
    this.#counted = log && countRequests(log);
    if (before === undefined) return undefined;
    const requests = log && counted ? requestsSince(log, counted) : null;
    return { ...figuresBetween(before, now), requests, load: loads?.now ?? null };
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
