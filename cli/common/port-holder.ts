/** The process that holds a port of this machine, where the system tells (Linux), and it is ours to see. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** "process 4711 (redis-server)"; undefined: the system does not say. */
export function holderOf(port: number): string | undefined {
  const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => inodesIn(table, port)));
  if (sockets.size === 0) return undefined;
  const pid = entries('/proc').find(
    (name) =>
      /^\d+$/.test(name) && entries(`/proc/${name}/fd`).some((fd) => sockets.has(target(`/proc/${name}/fd/${fd}`))),
  );
  return pid === undefined ? undefined : `process ${pid} (${read(`/proc/${pid}/comm`).trim()})`;
}

/** Of the sockets with this local port, as links of /proc/<pid>/fd name them. */
function inodesIn(table: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return read(table)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix))
    .map((fields) => `socket:[${fields[9]}]`);
}

/** A process may end, or belong to another user, while it is read. */
function orEmpty<T>(attempt: () => T, empty: T): T {
  try {
    return attempt();
  } catch {
    return empty;
  }
}

const read = (path: string): string => orEmpty(() => readFileSync(path, 'latin1'), '');
const entries = (path: string): readonly string[] => orEmpty(() => readdirSync(path), []);
const target = (path: string): string => orEmpty(() => readlinkSync(path), '');
