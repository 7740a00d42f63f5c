/**
 * Virtual time that passes with a real clock: due tasks run as soon as the process gets to them. Only the process itself waits;
 * external calls may reach its world at any moment, between two tasks.
 *
 * The clock never passes a due task: a process that got no CPU time for seconds catches up in the order of virtual time. Its
 * timeouts run after the answers that they wait for, however late both are.
 *
 * It is not deterministic, and need not be: between two tasks the promises that they resolved may or may not have run, as in the
 * live world.
 */
import { VirtualTime } from '../cluster/virtual-time.ts';

export interface Pace {
  /** Milliseconds since the Unix epoch, of a clock that never jumps. */
  nowMs(): number;
  /** Runs the task once, after the waiting I/O. */
  soon(run: () => void): void;
  /** Runs the task once, after this delay; the returned function cancels it. */
  later(ms: number, run: () => void): () => void;
}

/** Due tasks follow each other this many times before the process handles I/O, unless they take longer than `sliceMs`. */
const roundsAtOnce = 320;
const tasksAtOnce = 50;
/** A request or a signal waits no longer, however much there is to do: a key of 100 nodes takes seconds. */
const sliceMs = 20;

export const realPace: Pace = {
  nowMs: () => performance.timeOrigin + performance.now(),
  soon: (run) => {
    setImmediate(run);
  },
  later: (ms, run) => {
    const timer = setTimeout(run, Math.ceil(ms));
    return () => clearTimeout(timer);
  },
};

export class PacedTime extends VirtualTime {
  readonly #pace: Pace;
  /** The time of its next run; Infinity: it sleeps. */
  #plannedMs = Number.POSITIVE_INFINITY;
  #cancelPlan = (): void => undefined;
  #isRunning = false;
  #isStopped = false;

  constructor(pace: Pace = realPace) {
    super(Math.floor(pace.nowMs()));
    this.#pace = pace;
  }

  /** A whole number: a store writes at half a millisecond, and a request may come right after it. */
  override nowMs(): number {
    const taskMs = super.nowMs();
    if (this.#isRunning) return Math.floor(taskMs);
    return Math.floor(Math.max(taskMs, Math.min(this.#realMs(), this.nextMs ?? Number.POSITIVE_INFINITY)));
  }

  #realMs(): number {
    return Math.floor(this.#pace.nowMs());
  }

  override schedule(...[delayMs, work, background]: Parameters<VirtualTime['schedule']>) {
    const task = super.schedule(delayMs, work, background);
    if (!this.#isRunning && task.atMs < this.#plannedMs) this.#plan(task.atMs);
    return task;
  }

  /** Stops running tasks. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelPlan();
  }

  #plan(atMs: number): void {
    this.#cancelPlan();
    this.#plannedMs = atMs;
    let isCancelled = false;
    const run = () => {
      if (!isCancelled) this.#run();
    };
    const delayMs = atMs - this.#pace.nowMs();
    let cancel = (): void => undefined;
    if (delayMs > 0) cancel = this.#pace.later(delayMs, run);
    else this.#pace.soon(run);
    this.#cancelPlan = () => {
      isCancelled = true;
      cancel();
    };
  }

  #run(): void {
    if (this.#isStopped) return;
    this.#isRunning = true;
    const endMs = this.#pace.nowMs() + sliceMs;
    try {
      for (let round = 0; round < roundsAtOnce; round += 1) {
        this.runDue(this.#realMs(), tasksAtOnce);
        const nowMs = this.#realMs();
        if (nowMs >= endMs || (this.nextMs ?? Number.POSITIVE_INFINITY) > nowMs) break;
      }
    } finally {
      this.#isRunning = false;
      this.#plannedMs = Number.POSITIVE_INFINITY;
      const { nextMs } = this;
      if (nextMs !== undefined) this.#plan(nextMs);
    }
  }
}
