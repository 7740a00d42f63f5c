/**
 * Virtual time: tasks in order of their time, then of their making. Nothing here waits.
 *
 * A task may be `background`: something that repeats for ever, as a clock that ticks. It runs in its turn, but
 * does not count as something left to happen: when nothing else is left, time stops. So a world in which nothing
 * runs comes to rest, whatever ticks in it.
 */

/** What is done when its time comes. */
export interface Runnable {
  run(): void;
}

/** A place in the order of time. Made by `schedule`; its holder may only cancel it. */
export interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly background: boolean;
  /** undefined: done, or called off. */
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
  /** Tasks that count as left to happen. */
  #left = 0;
  readonly #heap: Task[] = [];
  /** Tasks that were made without a delay, oldest first, from `#soonAt` on: the heap would only carry them to its top. */
  readonly #soon: Task[] = [];
  #soonAt = 0;

  constructor(beganMs: number = worldBeganMs) {
    this.beganMs = beganMs;
    this.#nowMs = beganMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** When the next task is due, one of the background too; undefined: there is none. It may have been cancelled since. */
  get nextMs(): number | undefined {
    const soon = this.#soon[this.#soonAt];
    const first = this.#heap[0];
    if (soon === undefined || first === undefined) return (soon ?? first)?.atMs;
    return Math.min(soon.atMs, first.atMs);
  }

  /** How many tasks have run. */
  get tasksRun(): number {
    return this.#run;
  }

  /** Whether nothing is left to happen. */
  get isIdle(): boolean {
    return this.#left === 0;
  }

  /** Runs `run` after a delay; returns how to call it off. */
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

  /** Runs tasks until the condition holds or nothing is left to happen; returns whether it holds. */
  runUntil(condition: () => boolean, tasksMax = 1_000_000): boolean {
    for (let count = 0; count < tasksMax; count += 1) {
      if (condition()) return true;
      if (this.#left === 0) return false;
      this.#runNext();
    }
    throw new Error(`no end after ${tasksMax} tasks`);
  }

  /** Runs what is due by then, background tasks too, but no more than so many; returns whether more is due. */
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

  /** Runs everything that is due within this much virtual time. */
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
      // A world that never comes to rest at one moment would grow at its front for ever.
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
