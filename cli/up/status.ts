/** `signmesh status`: the processes of a data directory, and their health. */
import { ClientError, createClient } from '../../clients/client/index.ts';
import { describe } from '../../scenarios/faults/describe.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { exitCodes } from '../common/failure.ts';
import { askHealth, type Health, noHealth } from '../common/gateway-health.ts';
import { isRunning } from '../common/process-records.ts';
import type { ReadyLineFacts } from '../start/banner.ts';
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
  /** Of a sandbox that answers; else null. */
  readonly sandbox: SandboxStatus | null;
}

interface SandboxStatus {
  /** Processes that do not run: paused, down or starting. */
  readonly stopped: readonly { readonly process: string; readonly state: string }[];
  readonly faults: readonly { readonly id: string; readonly text: string }[];
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
  const [health, sandbox] =
    ready === undefined
      ? [null, null]
      : await Promise.all([askHealth(`${ready.http}/v1/health`, healthWithinMs), askSandbox(ready)]);
  return {
    state: running === undefined ? 'stopped' : ready === undefined ? 'starting' : 'ready',
    data_dir: dataDir,
    http: ready?.http ?? null,
    grpc: ready?.grpc ?? null,
    health,
    sandbox,
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

/** null: in production, and where the processes cannot be controlled. */
async function askSandbox({ http, token }: ReadyLineFacts): Promise<SandboxStatus | null> {
  if (typeof token !== 'string') return null;
  const { sandbox } = createClient({ baseUrl: http, token, deadlineMs: healthWithinMs });
  try {
    const [nodes, faults] = await Promise.all([sandbox.nodes().first(), sandbox.faults().first()]);
    return {
      stopped: nodes.nodes.filter(({ state }) => state !== 'running').map(({ process, state }) => ({ process, state })),
      faults: faults.faults
        .filter(({ state }) => state !== 'over')
        .map(({ id, fault }) => ({ id, text: describe(fault as Fault) })),
    };
  } catch (error) {
    if (error instanceof ClientError) return null;
    throw error;
  }
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
    ...(found.sandbox?.stopped ?? []).map(({ process, state }) => `  ${process} is ${state}`),
    ...(found.sandbox?.faults ?? []).map(({ id, text }) => `  fault ${id}: ${text}`),
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
