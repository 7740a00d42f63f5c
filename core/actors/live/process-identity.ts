/**
 * Identifies a process by its id and its start time, so that a reused id is never mistaken for our process, and never gets its
 * signals.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal for the same process only. Empty: the process ended before it could be read. */
  readonly began: string;
}

export function identify(pid: number): ProcessIdentity {
  return { pid, began: beganAt(pid) ?? '' };
}

/** A zombie, which only waits for its parent to reap it, counts as ended. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identity.began !== '' && beganAt(identity.pid) === identity.began;
}

/**
 * Whether the process is stopped (SIGSTOP): every thread of it, since one that is in a call of the system stops only after the
 * call, and a compaction of a store runs in a thread of its own. Without /proc: true as soon as the signal was sent.
 */
export function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') return true;
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => isThreadStopped(`/proc/${pid}/task/${thread}/stat`));
  } catch {
    return true;
  }
}

function isThreadStopped(statFile: string): boolean {
  try {
    const stat = readFileSync(statFile, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] === 'T';
  } catch {
    // It has ended.
    return true;
  }
}

/** Signals that very process, if it still runs. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** undefined: a record that is damaged and names no process. */
export function parseRecord(text: string): ProcessIdentity | undefined {
  try {
    const { pid, began } = JSON.parse(text) as Record<string, unknown>;
    return typeof pid === 'number' && typeof began === 'string' ? { pid, began } : undefined;
  } catch {
    return undefined;
  }
}

const tickMs = 10;

/** Processor time that a process has used, its threads' too. 0: it is gone, or the system does not tell (no /proc). */
export function processorMs(pid: number): number {
  const fields = statFields(pid);
  // utime and stime, in clock ticks; the kernel tells them to all programs in hundredths of a second.
  return (Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0)) * tickMs;
}

/** Time in which the process, its first thread, could run and got no processor. 0: it is gone, or the system does not tell. */
export function processorWaitMs(pid: number): number {
  try {
    const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}

function beganAt(pid: number): string | undefined {
  if (process.platform !== 'linux') {
    const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  }
  const fields = statFields(pid);
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

/** From its third field (state) on: the second is the program's name in parentheses and may hold anything. */
function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
