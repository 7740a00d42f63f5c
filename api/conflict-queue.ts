/**
 * Turns of requests that the store refused over the same thing. Each waits until the one before it has its answer, and
 * then reads and commits alone. So of many simultaneous requests about one wallet each runs twice or three times,
 * instead of once for every other one that wins. Turns are of this process: against other gateways the store's
 * compare-and-set decides, as ever.
 */
import type { Timers } from '../actors/contract.ts';

interface Waiting {
  readonly admit: () => void;
}

export interface Turn {
  readonly key: string;
  /** The next one's turn begins. Call it exactly once. */
  end(): void;
}

export class Turns {
  /** Those who wait for a key, first come first; the one whose turn it is does not stand there. */
  readonly #queues = new Map<string, Waiting[]>();
  readonly #timers: Timers;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Whether a request has a turn of any key: asked before keys are put together. */
  get isIdle(): boolean {
    return this.#queues.size === 0;
  }

  isTaken(key: string): boolean {
    return this.#queues.has(key);
  }

  /** Resolves when the turn begins; undefined when `waitMs` is over first. */
  take(key: string, waitMs: number): Promise<Turn | undefined> {
    const turn: Turn = { key, end: () => this.#end(key) };
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
