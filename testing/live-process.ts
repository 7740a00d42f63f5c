/**
 * A sandbox of its own for a test, a benchmark or the demo: `signmesh up` with a data directory, ports and a private Redis
 * that no other process uses. It ends with `stop`, and, should this process die before, by itself.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import type { RateLimits } from '../runner/scenario/format.ts';
import { makeOwnFolder } from './own-folder.ts';
import type { ReadyLine } from './ready-line.ts';
import { StartFailed, UpProcess, upCommand } from './up-process.ts';

export interface LiveProcessOptions {
  /** Variables of `up` (docs/configuration.md); a function gets the data directory. */
  readonly environment?: Variables | ((dataDir: string) => Variables);
  /** Further words for `up`. */
  readonly args?: readonly string[];
  /** What `up` says for people. */
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
  /** A silent node is replaced after so long. */
  readonly partialTimeoutMs: number;
  /** A call waits so long for nodes that are unreachable. */
  readonly nodesWaitMs: number;
  /** 1 each by default. */
  readonly gateways?: number;
  readonly workers?: number;
  /** Calls that a tenant has in ten seconds, by class; not counted by default. */
  readonly rateLimits?: RateLimits | undefined;
  /** Whether its gateway's door can have faults. */
  readonly doorFaults?: boolean;
}

/** Variables of a sandbox for tests and scenarios: it repeats deliveries soon. */
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

function rateLimitVariables(limits: RateLimits | undefined): Variables {
  if (limits === undefined) return { SIGNMESH_RATE_LIMIT: 'off' };
  const names = Object.entries(limits).map(([name, calls]) => [
    `SIGNMESH_RATE_LIMIT_${name.toUpperCase()}`,
    `${calls}`,
  ]);
  return { SIGNMESH_RATE_LIMIT: 'on', ...Object.fromEntries(names) };
}

const portTries = 5;

/** Resolves when every process serves. Rejects with the last words of `up` when it does not come to that. */
export async function startLiveProcess(options: LiveProcessOptions = {}): Promise<LiveProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      // Another process may take a port between the moment it is chosen and the moment it is used.
      const wasTaken = error instanceof StartFailed && / is taken\b/.test(error.message);
      if (!wasTaken || attempt === portTries) throw error;
    }
  }
}

async function startOnce({ environment = {}, args = [], onOutput }: LiveProcessOptions): Promise<LiveProcess> {
  const { dataDir, remove } = await makeOwnFolder();
  const httpPort = await freePort();
  const place = { dataDir, httpPort, grpcPort: await freePort(httpPort) };
  const up = new UpProcess(place, {
    environment: typeof environment === 'function' ? environment(dataDir) : environment,
    command: upCommand(...args),
    ...(onOutput && { onOutput }),
  });
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

/**
 * On loopback, but not `other`. Below the range that the system takes ports of outgoing connections from: those of a busy
 * machine would soon have it. At random, so that clusters that start at once choose different ones.
 */
async function freePort(other = 0): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 20_000);
    if (port !== other && (await isFree(port))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
