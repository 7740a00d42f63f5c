/**
 * The time limit of a start: it may run as long as it makes progress. On a busy machine every step takes many times as long, so
 * no step has its own limit; a start without progress for a minute fails. Time in which one of its processes waits for a processor
 * does not count: with more of them than processors, a minute gives each of them seconds (40 clusters beside each other on two cores).
 */
import { processorWaitMs } from '../common/process-records.ts';

export const stalledAfterMs = 60_000;

export class Progress {
  readonly #pids: () => readonly number[];
  #signs: string | undefined;
  #stalledMs = 0;
  #readAtMs = 0;
  #waitedMs: ReadonlyMap<number, number> = new Map();

  /** `pids`: the processes that the start waits for. */
  constructor(pids: () => readonly number[] = () => []) {
    this.#pids = pids;
  }

  /** `signs`: a text that changes with progress. Returns the time for which it has been the same. */
  stalledMs(signs: string): number {
    const nowMs = performance.now();
    const sinceMs = nowMs - this.#readAtMs;
    const waitedMs = new Map(this.#pids().map((pid) => [pid, processorWaitMs(pid)]));
    // Of the one that waited most: idle ones wait a little at each timer, and many of them would add up.
    const starvedMs = Math.max(0, ...[...waitedMs].map(([pid, ms]) => ms - (this.#waitedMs.get(pid) ?? ms)));
    this.#stalledMs = signs === this.#signs ? this.#stalledMs + Math.max(0, sinceMs - starvedMs) : 0;
    this.#signs = signs;
    this.#readAtMs = nowMs;
    this.#waitedMs = waitedMs;
    return this.#stalledMs;
  }

  isStalled(signs: string): boolean {
    return this.stalledMs(signs) >= stalledAfterMs;
  }
}
