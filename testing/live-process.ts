/**
 * A sandbox of its own for a test: `signmesh up` as a child process, with a data directory, ports and a private Redis that
 * nobody else uses. It ends with `stop`, and, should this process die before, by itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
  /** Secret of this sandbox alone. */
  readonly token: string;
  readonly dataDir: string;
  /** Ends all its processes and removes its data. Repeatable. */
  stop(): Promise<void>;
}

interface ReadyLine {
  readonly http: string;
  readonly grpc: string;
  readonly token: string;
}

const startWithinMs = 60_000;

/** Resolves when every process serves. Rejects with the last words of `up` when it does not come to that. */
export async function startLiveProcess(options: LiveProcessOptions = {}): Promise<LiveProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-'));
  const { nodes = 5, partialTimeoutMs = 300, nodesWaitMs = 2000, environment = {}, onOutput } = options;
  const { REDIS_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [join(packageRoot(), 'cli', 'signmesh.mjs'), 'up', '--json'], {
    env: {
      ...inherited,
      NO_COLOR: '1',
      SIGNMESH_DATA_DIR: dataDir,
      SIGNMESH_HTTP_PORT: String(await freePort()),
      SIGNMESH_GRPC_PORT: String(await freePort()),
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
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    })();
    return stopping;
  };
  try {
    const ready = await readyLine(child, gone, onOutput);
    return { baseUrl: ready.http, grpc: ready.grpc, token: ready.token, dataDir, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readyLine(child: ChildProcess, gone: Promise<number>, onOutput?: (text: string) => void): Promise<ReadyLine> {
  return new Promise((resolve, reject) => {
    let said = '';
    let output = '';
    const timer = setTimeout(
      () => reject(new Error(`the sandbox is not ready within ${startWithinMs} ms:\n${said}`)),
      startWithinMs,
    );
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const line = output.split('\n').find((one) => one.startsWith('{"event":"ready"') && one.endsWith('}'));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve(JSON.parse(line) as ReadyLine);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < 100_000) said += text;
      onOutput?.(text);
    });
    child.once('error', reject);
    void gone.then((code) => {
      clearTimeout(timer);
      reject(new Error(`the sandbox ended with ${code} before it was ready:\n${said}`));
    });
  });
}

/** The folder of this package, from source or from the build. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'cli', 'signmesh.mjs'))) folder = dirname(folder);
  return folder;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
