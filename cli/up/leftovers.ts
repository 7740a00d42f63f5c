/**
 * Cleans up after a killed `up`: its children end by themselves when it dies, but need a moment, and without a parent-death
 * signal of the kernel its Redis runs on. Nothing new starts on their stores before they have ended.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, readRecord, removeRecord, signal } from '../common/process-records.ts';

const graceMs = 5000;

/** Ends every process with a record in `folder`, and removes the records. Resolves when all have ended. */
export async function endLeftovers(folder: string, say: (line: string) => void): Promise<void> {
  const records = readdirSync(folder).filter((file) => file.endsWith('.pid'));
  await Promise.all(
    records.map(async (file) => {
      const path = join(folder, file);
      const identity = readRecord(path);
      if (identity !== undefined && isRunning(identity)) {
        say(`${file.slice(0, -4)} of an earlier start still runs (process ${identity.pid}); stopping it`);
        // A fault may have paused it: then it would not receive its signal to end.
        signal(identity, 'SIGCONT');
        signal(identity, 'SIGTERM');
        const killAtMs = performance.now() + graceMs;
        while (isRunning(identity)) {
          if (performance.now() > killAtMs) signal(identity, 'SIGKILL');
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      removeRecord(path);
    }),
  );
}
