/** The progress of a start's children: a text that changes with it, and the missing ones. */
import { join } from 'node:path';
import { errorText, Failure } from '../common/failure.ts';
import { processorMs } from '../common/process-records.ts';
import { Progress, stalledAfterMs } from '../start/progress.ts';
import type { SupervisedChild } from './supervisor.ts';

/** A child that died this often before it was ready makes no more progress. */
const deathsMax = 3;
const progressEveryMs = 500;

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

/** Resolves when all serve. Rejects with a Failure that names the culprit, also when none makes progress any more. */
export async function untilReady(children: readonly SupervisedChild[], dataDir: string): Promise<void> {
  const progress = new Progress(() => children.flatMap(({ pid }) => pid ?? []));
  let timer: NodeJS.Timeout | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (!progress.isStalled(signsOf(children))) return;
      const forS = stalledAfterMs / 1000;
      reject(
        new Failure(`Not ready, and no progress for ${forS} s: ${missingOf(children)}. See ${join(dataDir, 'logs')}.`),
      );
    }, progressEveryMs);
  });
  const ready = children.map(async (child) => {
    try {
      await child.whenReady;
    } catch (error) {
      const last = child.log.tail.map((line) => `\n  ${line}`).join('');
      throw error instanceof Failure ? error : new Failure(`${errorText(error)}. Its last words:${last}`);
    }
  });
  try {
    await Promise.race([Promise.all(ready), stalled]);
  } finally {
    clearInterval(timer);
  }
}
