/**
 * A sandbox of its own for a test: `signmesh up` as a child process, with a data directory, ports and a private Redis that
 * nobody else uses. It ends with `stop`, and, should this process die before, by itself.
 *
 * A start has no time limit: on a busy machine it takes as long as it takes. `up` gives itself up, and says why, when it
 * makes no progress; here only its silence is too much.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeOwnFolder } from './own-folder.ts';

export interface LiveProcessOptions {
  /** 5. */
  readonly nodes?: number;
  /** A silent node is replaced after so long. 300. */
  readonly partialTimeoutMs?: number;
  /** A call waits so long for nodes that are away. 2,000. */
  readonly nodesWaitMs?: number;
  /** Further variables (docs/configuration.md). */
  readonly environment?: Readonly<Record<string, string>>;
  /** What `up` says for people. */
  readonly onOutput?: (text: string) => void;
}

export interface LiveProcess {
  /** e.g. http://127.0.0.1:40001 */
  readonly baseUrl: string;
  /** host:port */
  readonly grpc: string;
  /** Of this sandbox alone, with every scope. Secret where the sandbox has a seed of its own. */
  readonly token: string;
  /** Another principal's of the same tenant: approves what the first has initiated. */
  readonly approverToken: string;
  readonly dataDir: string;
  /** Ends all its processes and removes its data. Repeatable. */
  stop(): Promise<void>;
}

interface ReadyLine {
  readonly http: string;
  readonly grpc: string;
  readonly token: string;
  readonly approver_token: string;
}

/** `up` says every second what it waits for; before that the command may compile a checkout, for a minute or two. */
const silentWithinMs = 300_000;
const saidCharsMax = 100_000;
const portTries = 5;

/** `up` ended before it was ready. */
class StartFailed extends Error {}

/** Resolves when every process serves. Rejects with the last words of `up` when it does not come to that. */
export async function startLiveProcess(options: LiveProcessOptions = {}): Promise<LiveProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      // Another process may take a port between the moment it is chosen and the moment it is used.
      const wasTaken = error instanceof StartFailed && /is taken by another process/.test(error.message);
      if (!wasTaken || attempt === portTries) throw error;
    }
  }
}

async function startOnce(options: LiveProcessOptions): Promise<LiveProcess> {
  const { dataDir, remove } = await makeOwnFolder();
  const { nodes = 5, partialTimeoutMs = 300, nodesWaitMs = 2000, environment = {}, onOutput } = options;
  const { REDIS_URL: _, ...inherited } = process.env;
  const httpPort = await freePort();
  const child = spawn(process.execPath, [join(packageRoot(), 'cli', 'signmesh.mjs'), 'up', '--json'], {
    env: {
      ...inherited,
      NO_COLOR: '1',
      SIGNMESH_DATA_DIR: dataDir,
      SIGNMESH_HTTP_PORT: String(httpPort),
      SIGNMESH_GRPC_PORT: String(await freePort(httpPort)),
      SIGNMESH_NODES: String(nodes),
      SIGNMESH_PARTIAL_TIMEOUT_MS: String(partialTimeoutMs),
      SIGNMESH_NODES_WAIT_MS: String(nodesWaitMs),
      SIGNMESH_RATE_LIMIT: 'off',
      SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: '200,1000,5000',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  const end = () => child.kill('SIGKILL');
  // `up` ends with its parent too, a moment later.
  process.once('exit', end);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      child.kill('SIGTERM');
      await gone;
      process.off('exit', end);
      remove();
    })();
    return stopping;
  };
  try {
    const ready = await readyLine(child, gone, onOutput);
    const { http: baseUrl, grpc, token, approver_token: approverToken } = ready;
    return { baseUrl, grpc, token, approverToken, dataDir, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readyLine(child: ChildProcess, gone: Promise<number>, onOutput?: (text: string) => void): Promise<ReadyLine> {
  return new Promise((resolve, reject) => {
    let said = '';
    let output = '';
    const silent = () =>
      reject(new Error(`the sandbox is not ready, and has said nothing for ${silentWithinMs / 1000} s:\n${said}`));
    const timer = setTimeout(silent, silentWithinMs);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const line = output.split('\n').find((one) => one.startsWith('{"event":"ready"') && one.endsWith('}'));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve(JSON.parse(line) as ReadyLine);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      timer.refresh();
      said = (said + text).slice(-saidCharsMax);
      onOutput?.(text);
    });
    child.once('error', reject);
    void gone.then((code) => {
      clearTimeout(timer);
      reject(new StartFailed(`the sandbox ended with ${code} before it was ready:\n${said}`));
    });
  });
}

/** The folder of this package, from source or from the build. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'cli', 'signmesh.mjs'))) folder = dirname(folder);
  return folder;
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
