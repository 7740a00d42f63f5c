/**
 * A private sandbox for a test, a benchmark or the demo: `signmesh up` with a data directory and a Redis that no other process
 * uses, on any free ports. `stop` ends it; it also ends by itself when this process dies.
 */
import type { ScenarioRateLimits } from '../../scenarios/runner/format.ts';
import { makeOwnFolder } from './own-folder.ts';
import type { ReadyLine } from './ready-line.ts';
import { UpProcess, upCommand } from './up-process.ts';

export interface LiveProcessOptions {
  /** Variables of `up` (docs/configuration.md); a function gets the data directory. */
  readonly environment?: Variables | ((dataDir: string) => Variables);
  /** Further arguments of `up`. */
  readonly args?: readonly string[];
  /** Gets the output of `up` for people. */
  readonly onOutput?: (text: string) => void;
}
type Variables = Readonly<NodeJS.ProcessEnv>;

export interface LiveProcess {
  readonly ready: ReadyLine;
  readonly dataDir: string;
  /** Ends all its processes and removes its data. Repeatable. */
  stop(): Promise<void>;
}

export interface TestSettings {
  /** Of each cluster. */
  readonly nodes: number;
  /** 1 by default. */
  readonly clusters?: number;
  /** A silent node is replaced after this time. */
  readonly partialTimeoutMs: number;
  /** The longest time that a call waits for unreachable nodes. */
  readonly nodesWaitMs: number;
  /** 1 each by default. */
  readonly gateways?: number;
  readonly workers?: number;
  /** Calls of a tenant in ten seconds, by class; unlimited by default. */
  readonly rateLimits?: ScenarioRateLimits | undefined;
  /** Whether faults can target the API server of its gateway. */
  readonly doorFaults?: boolean;
}

/** Variables of a sandbox for tests and scenarios: its delivery retries are fast. */
export function testVariables(settings: TestSettings): Variables {
  const {
    nodes,
    clusters = 1,
    partialTimeoutMs,
    nodesWaitMs,
    gateways = 1,
    workers = 1,
    rateLimits,
    doorFaults = false,
  } = settings;
  return {
    SIGNMESH_GATEWAYS: String(gateways),
    SIGNMESH_WORKERS: String(workers),
    SIGNMESH_NODES: String(nodes),
    SIGNMESH_CLUSTERS: String(clusters),
    SIGNMESH_PARTIAL_TIMEOUT_MS: String(partialTimeoutMs),
    SIGNMESH_NODES_WAIT_MS: String(nodesWaitMs),
    ...rateLimitVariables(rateLimits),
    SIGNMESH_DOOR_FAULTS: doorFaults ? 'on' : 'off',
    SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: '200,1000,5000',
  };
}

function rateLimitVariables(limits: ScenarioRateLimits | undefined): Variables {
  if (limits === undefined) return { SIGNMESH_RATE_LIMIT: 'off' };
  const names = Object.entries(limits).map(([name, calls]) => [
    `SIGNMESH_RATE_LIMIT_${name.toUpperCase()}`,
    `${calls}`,
  ]);
  return { SIGNMESH_RATE_LIMIT: 'on', ...Object.fromEntries(names) };
}

/** Resolves when every process serves. Rejects with the last output of `up` when that fails. */
export async function startLiveProcess(options: LiveProcessOptions = {}): Promise<LiveProcess> {
  const { environment = {}, args = [], onOutput } = options;
  const { dataDir, remove } = await makeOwnFolder();
  const up = new UpProcess(
    { dataDir },
    {
      environment: typeof environment === 'function' ? environment(dataDir) : environment,
      command: upCommand(...args),
      ...(onOutput && { onOutput }),
    },
  );
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      up.child.kill('SIGTERM');
      await up.exited;
      remove();
    })();
    return stopping;
  };
  try {
    return { ready: await up.ready(), dataDir, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
