/** Whether processes run, and waiting until they are gone. */
import { identify, isRunning } from '../../cli/common/process-records.ts';
import { until } from './until.ts';

/** A zombie, which its parent has not reaped yet, is not alive. */
export function isAlive(pid: number): boolean {
  return isRunning(identify(pid));
}

export async function allGone(pids: Readonly<Record<string, number>>): Promise<void> {
  await until(() => !Object.values(pids).some((pid) => isAlive(pid)), `gone: ${JSON.stringify(pids)}`);
}
