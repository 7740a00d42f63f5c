/** Waits for a condition, never for a time. */

/**
 * Resolves with the condition's first value that is not false, undefined or null. Rejects after `withinMs`, saying what
 * it waited for, and why the last look failed if it threw.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what: string | (() => string),
  withinMs = 60_000,
  everyMs = 10,
): Promise<NonNullable<Exclude<T, false>>> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    let failure = '';
    try {
      const value = await condition();
      if (value !== false && value !== undefined && value !== null) return value as NonNullable<Exclude<T, false>>;
    } catch (error) {
      failure = `; the last look failed: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (performance.now() > deadlineMs) {
      throw new Error(`not within ${withinMs} ms: ${typeof what === 'string' ? what : what()}${failure}`);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
