/** A cluster of the bench's own: `signmesh up` as a child, in a directory and on ports that go away with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Failure } from '../cli/failure.ts';
import { freePort } from '../cli/up/ports.ts';
import type { Key } from './ceremonies.ts';
import type { Curve } from './doors/door.ts';
import { probeVariable, profileVariable } from './probe-protocol.ts';

interface ReadyLine {
  readonly http: string;
  readonly grpc: string;
  readonly token: string;
  readonly keys: readonly { readonly wallet_id: string; readonly curve: Curve; readonly public_key: string }[];
  readonly pids: Readonly<Record<string, number>>;
}

export class BenchCluster {
  readonly dataDir: string;
  readonly coordinatorUrl: string;
  readonly #child: ChildProcess;
  readonly #ready: ReadyLine;

  private constructor(child: ChildProcess, dataDir: string, coordinatorUrl: string, ready: ReadyLine) {
    this.#child = child;
    this.dataDir = dataDir;
    this.coordinatorUrl = coordinatorUrl;
    this.#ready = ready;
  }

  static async start(profileFolder: string | undefined): Promise<BenchCluster> {
    const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-bench-'));
    if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true });
    const coordinatorPort = await freePort();
    const probe = new URL('./probe.js', import.meta.url);
    const child = spawn(process.execPath, [fileURLToPath(new URL('../cli/main.js', import.meta.url)), 'up', '--json'], {
      env: {
        ...process.env,
        SIGNMESH_DATA_DIR: dataDir,
        SIGNMESH_HTTP_PORT: String(await freePort()),
        SIGNMESH_GRPC_PORT: String(await freePort()),
        SIGNMESH_COORDINATOR_PORT: String(coordinatorPort),
        SIGNMESH_RATE_LIMIT: 'off',
        SIGNMESH_FAULTS: 'off',
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${probe.href}`.trim(),
        [probeVariable]: dataDir,
        ...(profileFolder !== undefined && { [profileVariable]: profileFolder }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      said = (said + chunk).slice(-4000);
    });
    const line = await Promise.race([
      once(createInterface({ input: child.stdout! }), 'line').then(([first]) => String(first)),
      once(child, 'exit').then(() => undefined),
    ]);
    if (line === undefined) {
      rmSync(dataDir, { recursive: true, force: true });
      throw new Failure(`The cluster to measure did not start.\n${said.trim()}`);
    }
    return new BenchCluster(child, dataDir, `ws://127.0.0.1:${coordinatorPort}`, JSON.parse(line) as ReadyLine);
  }

  get httpUrl(): string {
    return this.#ready.http;
  }

  get grpcAddress(): string {
    return this.#ready.grpc;
  }

  /** With its password. */
  get redisUrl(): string {
    const config = readFileSync(join(this.dataDir, 'redis', 'redis.conf'), 'utf8');
    const [port, password] = [/^port (\d+)$/m, /^requirepass (\S+)$/m].map((line) => line.exec(config)?.[1]);
    return `redis://:${password}@127.0.0.1:${port}`;
  }

  get token(): string {
    return this.#ready.token;
  }

  /** By role: "redis", "coordinator", "node-1", …, "gateway", and "up", which watches them. */
  get pids(): Readonly<Record<string, number>> {
    return this.#ready.pids;
  }

  /** The ready-made key of a curve. */
  key(curve: Curve): Key {
    const found = this.#ready.keys.find((key) => key.curve === curve);
    if (found === undefined) throw new Error(`the sandbox has no key on ${curve}`);
    return { walletId: found.wallet_id, curve, publicKey: Buffer.from(found.public_key, 'hex') };
  }

  /** What health says: "ok" when every node is there. */
  async health(): Promise<string> {
    const response = await fetch(`${this.httpUrl}/v1/health`, { signal: AbortSignal.timeout(5000) });
    return ((await response.json()) as { status: string }).status;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await gone;
    }
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
