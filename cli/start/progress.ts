/**
 * The time limit of a start: it may run as long as it makes progress. On a busy machine every step takes many times as long, so
 * no step has its own limit; a start without progress for a minute fails. Time in which its processes wait for a processor does
 * not count: with more of them than processors, a minute gives each of them seconds (40 clusters beside each other on two cores).
 */
import { processorWaitMs } from '../common/process-records.ts';

export const stalledAfterMs = 60_000;

export class Progress {
  readonly #pids: () => readonly number[];
  #signs: string | undefined;
  #stalledMs = 0;
  #readAtMs = 0;
  #waitedMs = 0;

  /** `pids`: the processes that the start waits for. */
  constructor(pids: () => readonly number[] = () => []) {
    this.#pids = pids;
  }

  /** `signs`: a text that changes with progress. Returns the time for which it has been the same. */
  stalledMs(signs: string): number {
    const nowMs = performance.now();
    const sinceMs = nowMs - this.#readAtMs;
    const waitedMs = this.#pids().reduce((sum, pid) => sum + processorWaitMs(pid), 0);
    // The sum falls when one of them ends.
    const starvedMs = Math.max(0, waitedMs - this.#waitedMs);
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
