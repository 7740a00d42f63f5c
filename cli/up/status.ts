/** `signmesh status`: the processes of a data directory, and their health. */
import { exitCodes } from '../common/failure.ts';
import { askHealth, type Health, noHealth } from '../common/gateway-health.ts';
import { isRunning } from '../common/process-records.ts';
import { processRecords, runningCluster } from '../start/running.ts';
import { Screen } from '../start/screen.ts';
import { residentBytes } from './process-control.ts';

export interface StatusOptions {
  readonly dataDir: string;
  readonly json: boolean;
  readonly colour: boolean;
}

/** A person asks once: a busy gateway has time to answer. */
const healthWithinMs = 15_000;

interface ProcessStatus {
  readonly process: string;
  readonly pid: number;
  readonly running: boolean;
  /** Bytes in memory; null: it does not run, or the system does not report it. */
  readonly resident_bytes: number | null;
}

interface Status {
  readonly state: 'stopped' | 'starting' | 'ready';
  readonly data_dir: string;
  readonly http: string | null;
  readonly grpc: string | null;
  /** The answer of GET /v1/health; null: the cluster is not ready. */
  readonly health: Health | null;
  readonly processes: readonly ProcessStatus[];
}

/** Resolves with exit code 0 when the cluster serves (also degraded), and 1 when it does not. Throws a Failure. */
export async function status({ dataDir, json, colour }: StatusOptions): Promise<number> {
  const found = await look(dataDir);
  if (json) process.stdout.write(`${JSON.stringify(found)}\n`);
  else
    for (const line of words(found, new Screen({ stream: process.stdout, terminal: false, colour })))
      process.stdout.write(`${line}\n`);
  return serves(found.health) ? exitCodes.ok : exitCodes.failed;
}

async function look(dataDir: string): Promise<Status> {
  const running = runningCluster(dataDir);
  const ready = running?.ready;
  return {
    state: running === undefined ? 'stopped' : ready === undefined ? 'starting' : 'ready',
    data_dir: dataDir,
    http: ready?.http ?? null,
    grpc: ready?.grpc ?? null,
    health: ready === undefined ? null : await askHealth(`${ready.http}/v1/health`, healthWithinMs),
    processes:
      running === undefined
        ? []
        : [{ name: 'up', identity: running.up }, ...processRecords(dataDir)].map(({ name, identity }) => ({
            process: name,
            pid: identity.pid,
            running: isRunning(identity),
            resident_bytes: (isRunning(identity) && residentBytes(identity.pid)) || null,
          })),
  };
}

function serves(health: Health | null): boolean {
  return health?.status === 'ok' || health?.status === 'degraded';
}

function words(found: Status, { bold, dim }: Screen): readonly string[] {
  if (found.state === 'stopped') return [`No cluster runs in ${found.data_dir}: "signmesh up --detach" starts one.`];
  if (found.state === 'starting') return [`The cluster in ${found.data_dir} is starting.`, ...processLines(found)];
  const { status: state, nodes_ready: ready, nodes_total: total, reasons } = found.health ?? noHealth;
  return [
    `${bold(state)}, ${ready} of ${total} nodes joined`,
    ...reasons.map((reason) => `  ${reason}`),
    `${dim('REST')} ${found.http}  ${dim('gRPC')} ${found.grpc}`,
    ...processLines(found),
  ];
}

function processLines({ processes }: Status): readonly string[] {
  const width = Math.max(...processes.map(({ process }) => process.length));
  return processes.map(({ process, pid, running, resident_bytes: bytes }) => {
    const size = bytes === null ? '' : `${(bytes / 2 ** 20).toFixed(0)} MiB`;
    return `  ${process.padEnd(width)}  ${String(pid).padStart(7)}  ${running ? size : 'has ended'}`;
  });
}
