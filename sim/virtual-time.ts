/** Virtual time: tasks in order of their time, then of their making. Nothing here waits. */

interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
}

export class VirtualTime {
  #nowMs = 1_700_000_000_000;
  #order = 0;
  readonly #heap: Task[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): () => void {
    this.#order += 1;
    const task: Task = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order, run, cancelled: false };
    this.#push(task);
    return () => {
      task.cancelled = true;
    };
  }

  /** Runs tasks until the condition holds or nothing is left; returns whether it holds. */
  runUntil(condition: () => boolean, tasksMax = 1_000_000): boolean {
    for (let count = 0; count < tasksMax; count += 1) {
      if (condition()) return true;
      const task = this.#pop();
      if (!task) return condition();
      if (task.cancelled) continue;
      this.#nowMs = Math.max(this.#nowMs, task.atMs);
      task.run();
    }
    throw new Error(`no end after ${tasksMax} tasks`);
  }

  /** Runs everything that is due within this much virtual time. */
  advance(ms: number): void {
    let over = false;
    this.after(ms, () => {
      over = true;
    });
    this.runUntil(() => over);
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
