/**
 * Where a gateway's log goes: lines at level info, of which every request makes one, gather for some milliseconds and are written
 * together, since each write wakes a thread here and the process that reads. Any other line is written at once, behind those
 * that have gathered. What is lost with a process that is killed is what it logged in its last moment.
 */
import type { Timers } from '../../core/actors/contract.ts';

interface Lines {
  write(text: string): unknown;
}

const gatherMs = 20;
const gatherCharsMax = 32 * 1024;
/** As pino begins a line of this level. */
const gathered = '{"level":30,';

/** `flush` writes what has gathered: for the end of the process. */
export function gatheredLines(to: Lines, timers: Timers): Lines & { flush(): void } {
  let waiting = '';
  let isPlanned = false;
  const flush = (): void => {
    if (waiting === '') return;
    const text = waiting;
    waiting = '';
    to.write(text);
  };
  return {
    write(line) {
      waiting += line;
      if (!line.startsWith(gathered) || waiting.length >= gatherCharsMax) flush();
      else if (!isPlanned) {
        isPlanned = true;
        timers.start(gatherMs, () => {
          isPlanned = false;
          flush();
        });
      }
    },
    flush,
  };
}
