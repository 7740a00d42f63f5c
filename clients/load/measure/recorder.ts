/**
 * Counts the events of a run: per stage its operations, their calls, and the operations that were not sent; over time one point a
 * second. Latencies count from the time at which an operation was due.
 */
import { type Latency, LatencyHistogram } from './histogram.ts';

/** Of an operation, or of an endpoint that it calls. */
export interface Figures {
  readonly completed: number;
  /** Of these, those before the end of the stage. */
  readonly inTime: number;
  /** Failures, by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Of completed operations. */
  readonly latency: Latency;
  /** HdrHistogram V2, compressed, base64: runs can be merged. */
  readonly histogram: string;
  /** Of failures by which the service refused for its load (`isRefusal`). */
  readonly refused: Latency & { readonly count: number };
}

export interface StageFigures {
  /** Operations that were due. */
  readonly arrived: number;
  readonly unsent: number;
  /** Sent, but without an end when the run was over. */
  readonly unanswered: number;
  /** All operations together. */
  readonly total: Figures;
  readonly operations: Readonly<Record<string, Figures>>;
  readonly endpoints: Readonly<Record<string, Figures>>;
  /** From the due time of an operation to its sending: the generator's own delay. */
  readonly lateness: Latency;
}

/** One second of the run, or several of a long one. Counts are of that time; latencies in milliseconds. */
export interface LoadPoint {
  /** Since the load began. */
  readonly atMs: number;
  readonly sent: number;
  readonly completed: number;
  readonly failed: number;
  readonly unsent: number;
  readonly inFlight: number;
  readonly p50: number;
  readonly p99: number;
}

const codesMax = 50;

class Tally {
  readonly histogram = new LatencyHistogram();
  readonly refused = new LatencyHistogram(2);
  readonly errors = new Map<string, number>();
  inTime = 0;

  /** `code` undefined: it completed. */
  ended(ms: number, code: string | undefined): void {
    if (code === undefined) this.histogram.recordMs(ms);
    else this.#failed(ms, code);
  }

  #failed(ms: number, code: string): void {
    if (isRefusal(code)) this.refused.recordMs(ms);
    // A code is a text of the service: without a limit a broken service could fill the memory.
    const known = this.errors.has(code) || this.errors.size < codesMax ? code : 'other';
    this.errors.set(known, (this.errors.get(known) ?? 0) + 1);
  }

  figures(): Figures {
    return {
      completed: this.histogram.count,
      inTime: this.inTime,
      errors: Object.fromEntries([...this.errors].sort(([, a], [, b]) => b - a)),
      latency: this.histogram.latency(),
      histogram: this.histogram.encoded(),
      refused: { count: this.refused.count, ...this.refused.latency() },
    };
  }
}

class StageRecorder {
  arrived = 0;
  unsent = 0;
  ended = 0;
  readonly total = new Tally();
  readonly operations = new Map<string, Tally>();
  readonly endpoints = new Map<string, Tally>();
  readonly lateness = new LatencyHistogram(2);

  figures(): StageFigures {
    const all = (tallies: ReadonlyMap<string, Tally>) =>
      Object.fromEntries([...tallies].map(([name, tally]) => [name, tally.figures()]));
    return {
      arrived: this.arrived,
      unsent: this.unsent,
      unanswered: this.arrived - this.unsent - this.ended,
      total: this.total.figures(),
      operations: all(this.operations),
      endpoints: all(this.endpoints),
      lateness: this.lateness.latency(),
    };
  }
}

export class LoadRecorder {
  readonly #stages: readonly StageRecorder[];
  readonly #interval = new LatencyHistogram(2);
  #counts = { sent: 0, completed: 0, failed: 0, unsent: 0 };

  constructor(stages: number) {
    this.#stages = Array.from({ length: stages }, () => new StageRecorder());
  }

  sent(stage: number, latenessMs: number): void {
    const recorder = this.#stages[stage]!;
    recorder.arrived += 1;
    recorder.lateness.recordMs(latenessMs);
    this.#counts.sent += 1;
  }

  unsent(stage: number): void {
    const recorder = this.#stages[stage]!;
    recorder.arrived += 1;
    recorder.unsent += 1;
    this.#counts.unsent += 1;
  }

  /** `code` undefined: it completed. */
  operation(stage: number, name: string, ms: number, code: string | undefined): void {
    const recorder = this.#stages[stage]!;
    recorder.ended += 1;
    for (const tally of [recorder.total, tallyOf(recorder.operations, name)]) tally.ended(ms, code);
    if (code === undefined) {
      this.#counts.completed += 1;
      this.#interval.recordMs(ms);
    } else this.#counts.failed += 1;
  }

  call(stage: number, endpoint: string, ms: number, code: string | undefined): void {
    tallyOf(this.#stages[stage]!.endpoints, endpoint).ended(ms, code);
  }

  /** The stage's time is over, though some of its operations may not be. Returns how many completed in it. */
  end(stage: number): number {
    const { total, operations, endpoints } = this.#stages[stage]!;
    for (const tally of [total, ...operations.values(), ...endpoints.values()]) tally.inTime = tally.histogram.count;
    return total.inTime;
  }

  /** Errors so far, over all stages, by code. */
  errors(): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const { total } of this.#stages) {
      for (const [code, count] of total.errors) sums[code] = (sums[code] ?? 0) + count;
    }
    return sums;
  }

  /** The counts since the last point. */
  point(atMs: number, inFlight: number): LoadPoint {
    const latency = { p50: this.#interval.percentileMs(50), p99: this.#interval.percentileMs(99) };
    const point = { atMs, ...this.#counts, inFlight, ...latency };
    this.#counts = { sent: 0, completed: 0, failed: 0, unsent: 0 };
    this.#interval.reset();
    return point;
  }

  stages(): StageFigures[] {
    return this.#stages.map((stage) => stage.figures());
  }
}

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  let tally = tallies.get(name);
  if (tally === undefined) {
    tally = new Tally();
    tallies.set(name, tally);
  }
  return tally;
}

/** Whether a failure's code is a refusal for load: of the rate limit, or of a full queue. */
function isRefusal(code: string): boolean {
  return /^(429|RESOURCE_EXHAUSTED) (OVERLOADED|RATE_LIMITED)$/.test(code);
}
