/**
 * Virtual time: tasks ordered by their time, then by their creation. It never waits.
 *
 * A task may be `background`: a repetition without end, such as a ticking clock. It runs in its turn, but does not count as
 * outstanding work: without other tasks, time stops. So an idle world comes to rest in spite of its background tasks.
 *
 * There are two kinds of step. Actors are synchronous: their steps are complete when they return. A step that wakes asynchronous
 * code says so (`woken`): it ends with a turn of the event loop, so that this code runs before the next step
 * (simulation/service/run-loop.ts).
 */

/** Work to run at its time. */
export interface Runnable {
  run(): void;
}

/** An entry in the order of time. `schedule` makes it; its holder may only cancel it. */
export interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly background: boolean;
  /** undefined: done, or cancelled. */
  work: Runnable | undefined;
}

/** The moment at which every simulated world begins, in milliseconds since 1970. */
export const worldBeganMs = 1_700_000_000_000;

export class VirtualTime {
  /** When the world began, in milliseconds since the Unix epoch. */
  readonly beganMs: number;
  #nowMs: number;
  #order = 0;
  #run = 0;
  /** The number of outstanding tasks. */
  #left = 0;
  readonly #heap: Task[] = [];
  /** Tasks made without a delay, oldest first, from `#soonAt` on: they bypass the heap, which would only move them to its top. */
  readonly #soon: Task[] = [];
  #soonAt = 0;
  #isAwake = false;

  constructor(beganMs: number = worldBeganMs) {
    this.beganMs = beganMs;
    this.#nowMs = beganMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** The time of the next task, background tasks included; undefined: there is none. It may have been cancelled since. */
  get nextMs(): number | undefined {
    const soon = this.#soon[this.#soonAt];
    const first = this.#heap[0];
    if (soon === undefined || first === undefined) return (soon ?? first)?.atMs;
    return Math.min(soon.atMs, first.atMs);
  }

  /** The number of tasks that have run. */
  get tasksRun(): number {
    return this.#run;
  }

  /** Whether no work is outstanding. */
  get isIdle(): boolean {
    return this.#left === 0;
  }

  /** A promise may have been resolved: its code runs before the next step. */
  woken(): void {
    this.#isAwake = true;
  }

  /** Whether `woken` was called since the last `settling`. */
  get isAwake(): boolean {
    return this.#isAwake;
  }

  /** The woken code runs now. */
  settling(): void {
    this.#isAwake = false;
  }

  /** Resolves after this much virtual time. */
  pause(ms: number, background = false): Promise<void> {
    return new Promise((resolve) => {
      this.after(
        ms,
        () => {
          this.woken();
          resolve();
        },
        background,
      );
    });
  }

  /** Runs `run` after a delay; returns a function that cancels it. */
  after(delayMs: number, run: () => void, background = false): () => void {
    const task = this.schedule(delayMs, { run }, background);
    return () => this.cancel(task);
  }

  schedule(delayMs: number, work: Runnable, background = false): Task {
    this.#order += 1;
    const nowMs = this.nowMs();
    const atMs = delayMs > 0 ? nowMs + delayMs : nowMs;
    const task: Task = { atMs, order: this.#order, background, work };
    if (!background) this.#left += 1;
    if (delayMs > 0) this.#push(task);
    else this.#soon.push(task);
    return task;
  }

  cancel(task: Task): void {
    if (task.work === undefined) return;
    task.work = undefined;
    if (!task.background) this.#left -= 1;
  }

  /** Runs tasks until the condition holds or no work is outstanding; returns whether it holds. */
  runUntil(condition: () => boolean, tasksMax = 1_000_000): boolean {
    for (let count = 0; count < tasksMax; count += 1) {
      if (condition()) return true;
      if (this.#left === 0) return false;
      this.#runNext();
    }
    throw new Error(`no end after ${tasksMax} tasks`);
  }

  /** Runs the tasks due by then, background tasks too, but at most `tasksMax`; returns whether more are due. */
  runDue(untilMs: number, tasksMax: number): boolean {
    for (let count = 0; count < tasksMax; count += 1) {
      const { nextMs } = this;
      if (nextMs === undefined || nextMs > untilMs) {
        if (untilMs > this.#nowMs) this.#nowMs = untilMs;
        return false;
      }
      this.#runNext();
    }
    return true;
  }

  /** Runs all tasks that fall due within this much virtual time. */
  advance(ms: number): void {
    let over = false;
    this.after(ms, () => {
      over = true;
    });
    this.runUntil(() => over);
  }

  #runNext(): void {
    const task = this.#next()!;
    const { work } = task;
    if (work === undefined) return;
    task.work = undefined;
    if (!task.background) this.#left -= 1;
    if (task.atMs > this.#nowMs) this.#nowMs = task.atMs;
    this.#run += 1;
    work.run();
  }

  #next(): Task | undefined {
    const soon = this.#soon[this.#soonAt];
    const first = this.#heap[0];
    if (soon === undefined || (first !== undefined && isBefore(first, soon))) return this.#pop();
    this.#soonAt += 1;
    if (this.#soonAt === this.#soon.length) {
      this.#soon.length = 0;
      this.#soonAt = 0;
    } else if (this.#soonAt >= 4096) {
      // A world that is never idle at one moment would otherwise grow this list without limit.
      this.#soon.splice(0, this.#soonAt);
      this.#soonAt = 0;
    }
    return soon;
  }

  #push(task: Task): void {
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(task, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = task;
  }

  #pop(): Task | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || first === last) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
