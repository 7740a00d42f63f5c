/** `signmesh stop`: ends the cluster of a data directory, in order. */
import { setTimeout as pause } from 'node:timers/promises';
import { exitCodes, Failure } from '../common/failure.ts';
import { isRunning, signal } from '../common/process-records.ts';
import { runningCluster } from '../start/running.ts';
import { duration } from '../start/screen.ts';

const lookEveryMs = 20;
/** Long before this time, `up` kills processes that do not end by themselves. */
const withinMs = 60_000;

/** Resolves with an exit code when everything has stopped; also when no cluster ran. */
export async function stop(dataDir: string): Promise<number> {
  const running = runningCluster(dataDir);
  if (running === undefined) {
    process.stdout.write(`No cluster runs in ${dataDir}.\n`);
    return exitCodes.ok;
  }
  const beganMs = performance.now();
  signal(running.up, 'SIGTERM');
  while (isRunning(running.up)) {
    if (performance.now() - beganMs > withinMs) {
      throw new Failure(`signmesh up (process ${running.up.pid}) does not stop. See the logs in ${dataDir}.`);
    }
    await pause(lookEveryMs);
  }
  process.stdout.write(`All processes have stopped (${duration(performance.now() - beganMs)}).\n`);
  return exitCodes.ok;
}
