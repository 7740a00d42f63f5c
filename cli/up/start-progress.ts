/** The progress of a start's children: a text that changes with it, and the missing ones. */
import { processorMs } from '../common/process-identity.ts';
import type { SupervisedChild } from './supervisor.ts';

/** A child that died this often before it was ready makes no more progress. */
const deathsMax = 3;

/** Changes while children become ready, and while one works without waiting. */
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
