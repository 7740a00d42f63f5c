/**
 * How long a start may take: as long as it makes progress. On a busy machine everything takes many times as long, so no step has
 * a limit of its own; a start without progress for a minute fails.
 */
import { processorMs } from '../common/process-identity.ts';
import type { SupervisedChild } from './supervisor.ts';

const stalledAfterMs = 60_000;
/** A child that died so often before it was ready does not make its way any more. */
const deathsMax = 3;

export class Progress {
  readonly #stalledAfterMs: number;
  #signs = '';
  #sinceMs = performance.now();

  constructor(stalledAfter = stalledAfterMs) {
    this.#stalledAfterMs = stalledAfter;
  }

  get stalledAfterMs(): number {
    return this.#stalledAfterMs;
  }

  /** `signs`: a text that changes with progress. True when it has been the same for too long. */
  isStalled(signs: string): boolean {
    const nowMs = performance.now();
    if (signs !== this.#signs) this.#sinceMs = nowMs;
    this.#signs = signs;
    return nowMs - this.#sinceMs >= this.#stalledAfterMs;
  }
}

/** Changes while children become ready, and while one that waits for nothing else is at work. */
export function signsOf(children: readonly SupervisedChild[]): string {
  return children
    .map((child) => {
      if (child.state === 'running') return 'ready';
      const isAtWork = child.isAlive && child.waitingFor === undefined && child.restarts < deathsMax;
      return isAtWork && child.pid !== undefined ? processorMs(child.pid) : '';
    })
    .join(' ');
}

/** "coordinator (Redis at 127.0.0.1:6379 does not answer), node-2" */
export function missingOf(children: readonly SupervisedChild[]): string {
  return children
    .filter((child) => child.state !== 'running')
    .map((child) => {
      const died = child.restarts > 0 ? child.log.tail.at(-1) : undefined;
      const why = child.waitingFor ?? died;
      return why === undefined ? child.name : `${child.name} (${why})`;
    })
    .join(', ');
}
