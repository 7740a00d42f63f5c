/** Waits for a condition, never for a time. */
import { wantersPerCore } from './busy-machine.ts';

/** How long a test waits on a machine that is free, and how many times as long on one that is busy. */
const patienceFreeMs = 90_000;
const patienceTimesMax = 4;

/**
 * How long a test waits for what a free machine does within seconds, in whole milliseconds. The limit only guards against a wait
 * without an end: it grows with the number of programs that want a core, and no test passes or fails by it unless something hangs.
 */
export function patienceMs(): number {
  return Math.round(patienceFreeMs * Math.min(patienceTimesMax, wantersPerCore()));
}

/**
 * Resolves with the condition's first value that is not false, undefined or null. Rejects after `patienceMs`, saying what
 * it waited for, and why the last look failed if it threw.
 *
 * `everyMs`: between two looks. Unless given 10 ms, later a tenth of what it has waited, at most 100 ms: a look is often a
 * request, and what is waited for needs the CPU time.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what: string | (() => string),
  everyMs?: number,
): Promise<NonNullable<Exclude<T, false>>> {
  const beganMs = performance.now();
  for (;;) {
    let failure = '';
    try {
      const look = condition();
      const value = look instanceof Promise ? await withinTime(look, beganMs + patienceMs() - performance.now()) : look;
      if (value !== false && value !== undefined && value !== null) return value as NonNullable<Exclude<T, false>>;
    } catch (error) {
      failure = `; the last look failed: ${error instanceof Error ? error.message : String(error)}`;
    }
    const waitedMs = performance.now() - beganMs;
    if (waitedMs > patienceMs()) {
      const waited = `not within ${Math.round(waitedMs / 1_000)} s`;
      throw new Error(`${waited}: ${typeof what === 'string' ? what : what()}${failure}`);
    }
    const pauseMs = everyMs ?? Math.min(100, Math.max(10, waitedMs / 10));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** A look that hangs must not hang the test. */
async function withinTime<T>(look: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it did not end')), Math.max(0, ms) + 1);
  });
  try {
    return await Promise.race([look, late]);
  } finally {
    clearTimeout(timer);
  }
}
