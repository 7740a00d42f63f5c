/** What the measured processes use: CPU time and memory from /proc (Linux), the event loop from their probes. */
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { type ProbeReading, probeSocket } from './probe-protocol.ts';

export type Pids = Readonly<Record<string, number>>;

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

export interface Memory {
  /** Resident bytes now, and the most there ever were. */
  readonly rss: number;
  readonly peak: number;
  /** Of `rss`: pages that no other process has (the five nodes share the text of Node itself). */
  readonly own: number;
}

export function memory(pids: Pids): Record<string, Memory> {
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
      // Gone, or no Linux: nothing is claimed of it.
      return [];
    }
  });
  return Object.fromEntries(entries);
}

/** Asks every probe, and with that sets it back. Processes without one (Redis) are left out. */
export async function readProbes(pids: Pids, folder: string): Promise<Record<string, ProbeReading>> {
  const readings = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => [name, await readProbe(probeSocket(folder, pid))] as const),
  );
  return Object.fromEntries(readings.flatMap(([name, reading]) => (reading === undefined ? [] : [[name, reading]])));
}

function readProbe(path: string): Promise<ProbeReading | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = createConnection(path);
    socket.setTimeout(2000, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text === '' ? undefined : (JSON.parse(text) as ProbeReading)));
  });
}
