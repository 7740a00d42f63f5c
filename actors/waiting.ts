/** What asynchronous code does with timers, over the Timers port: it runs on real and on virtual time. */
import type { Cancel, Timers } from './contract.ts';

export function pause(timers: Timers, forMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.start(forMs, resolve);
  });
}

/** Runs `run` again and again, for the first time after `everyMs`, until the returned function is called. */
export function repeat(timers: Timers, everyMs: number, run: () => void): Cancel {
  let cancel = timers.start(everyMs, tick);
  function tick(): void {
    cancel = timers.start(everyMs, tick);
    run();
  }
  return () => cancel();
}

/**
 * What `work` gives, or what `late` returns or throws when `limitMs` are over first. The work continues then; if it fails,
 * no caller learns of it.
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
