/** Intervals and timeouts for asynchronous code over the Timers port, in real and in virtual time. */
import type { Cancel, Timers } from './contract.ts';

export function pause(timers: Timers, forMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.start(forMs, resolve);
  });
}

/** Runs `run` periodically, first after `everyMs`, until the returned function is called. */
export function repeat(timers: Timers, everyMs: number, run: () => void): Cancel {
  let cancel = timers.start(everyMs, tick);
  function tick(): void {
    cancel = timers.start(everyMs, tick);
    run();
  }
  return () => cancel();
}

/**
 * The result of `work`, or that of `late` if `limitMs` pass first. The work then continues; its failure is ignored.
 */
export async function withinLimit<T, L>(
  timers: Timers,
  limitMs: number,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> {
  let cancel: Cancel | undefined;
  const limit = new Promise<void>((resolve) => {
    cancel = timers.start(limitMs, resolve);
  });
  try {
    return await Promise.race([work, limit.then(late)]);
  } finally {
    cancel?.();
  }
}
