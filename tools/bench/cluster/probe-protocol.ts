/** The shared constants of the probe inside a measured process and the bench outside. */
import { join } from 'node:path';

/** Names the directory in which probes listen. */
export const probeVariable = 'BENCH_PROBE_DIR';

/** Names the directory for a CPU profile of the whole life of each process. */
export const profileVariable = 'BENCH_PROFILE_DIR';

export function probeSocket(folder: string, pid: number): string {
  return join(folder, `probe-${pid}.sock`);
}

/** Since the previous request. Milliseconds and bytes. */
export interface ProbeReading {
  /** Lateness of a timer: the delay of the event loop beyond its due time. */
  readonly lagP50: number;
  readonly lagP99: number;
  readonly lagMax: number;
  /** The part of the time in which the event loop was not idle, 0 to 1. */
  readonly utilization: number;
  readonly gcMs: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
}
