import { identify, isRunning } from '../../../cli/common/process-identity.ts';

/** Waits for a condition, never for a time. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A zombie, which its parent has not reaped yet, is not alive. */
export function isAlive(pid: number): boolean {
  return isRunning(identify(pid));
}
