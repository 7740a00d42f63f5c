/**
 * Queues requests whose commit conflicted over the same record. Each waits until the previous one has its answer, and then
 * reads and commits alone. So with many simultaneous requests about one wallet, each runs two or three times, instead of once
 * for every competing request. The queue is local to the process: between gateways the store's compare-and-set decides, as
 * always.
 */
import type { Timers } from '../../core/actors/contract.ts';

interface Waiting {
  readonly admit: () => void;
}

export interface ConflictLock {
  readonly key: string;
  /** Begins the next turn. Call it exactly once. */
  end(): void;
}

export class ConflictLocks {
  /** The requests that wait for a key, in order of arrival, without the one whose turn it is. */
  readonly #queues = new Map<string, Waiting[]>();
  readonly #timers: Timers;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Whether no request holds a turn: a cheap check before the keys are computed. */
  get isIdle(): boolean {
    return this.#queues.size === 0;
  }

  isTaken(key: string): boolean {
    return this.#queues.has(key);
  }

  /** Resolves when the turn begins; undefined when `waitMs` is over first. */
  take(key: string, waitMs: number): Promise<ConflictLock | undefined> {
    const turn: ConflictLock = { key, end: () => this.#end(key) };
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      this.#queues.set(key, []);
      return Promise.resolve(turn);
    }
    return new Promise((resolve) => {
      const cancel = this.#timers.start(waitMs, () => {
        const index = queue.indexOf(waiting);
        if (index >= 0) queue.splice(index, 1);
        resolve(undefined);
      });
      const waiting: Waiting = {
        admit: () => {
          cancel();
          resolve(turn);
        },
      };
      queue.push(waiting);
    });
  }

  #end(key: string): void {
    const next = this.#queues.get(key)?.shift();
    if (next === undefined) this.#queues.delete(key);
    else next.admit();
  }
}
