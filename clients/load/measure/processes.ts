/** The use of processes on this machine: CPU time and memory, from /proc (Linux). */
import { readFileSync } from 'node:fs';

export type Pids = Readonly<Record<string, number>>;

/** Each process once: members that share one get one name, of the first and the last, e.g. `node-1…node-5`. */
export function byProcess(members: readonly { readonly name: string; readonly pid: number }[]): Pids {
  const names = new Map<number, string[]>();
  for (const { name, pid } of members) names.set(pid, [...(names.get(pid) ?? []), name]);
  return Object.fromEntries(
    [...names].map(([pid, all]) => [all.length === 1 ? `${all[0]}` : `${all[0]}…${all.at(-1)}`, pid]),
  );
}

/** The kernel counts in hundredths of a second, on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** CPU seconds since the start of each process, user and system. */
export function cpuSeconds(pids: Pids): Record<string, number> {
  return mapPids(pids, (pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  });
}

export interface MemoryUse {
  /** Resident bytes now, and their maximum. */
  readonly rss: number;
  readonly peak: number;
  /** Of `rss`: pages that no other process shares (the five nodes share the text of Node itself). */
  readonly own: number;
}

export function memory(pids: Pids): Record<string, MemoryUse> {
  return mapPids(pids, (pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kib = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
    return { rss: kib('VmRSS'), peak: kib('VmHWM'), own: kib('RssAnon') };
  });
}

function mapPids<T>(pids: Pids, read: (pid: number) => T): Record<string, T> {
  const entries = Object.entries(pids).flatMap(([name, pid]): [string, T][] => {
    try {
      return [[name, read(pid)]];
    } catch {
      // It has ended, or this is no Linux: reports nothing.
      return [];
    }
  });
  return Object.fromEntries(entries);
}
