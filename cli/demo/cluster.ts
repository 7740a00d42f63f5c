/** A cluster of the demo's own: `signmesh up` as a child, in a directory that goes away with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Failure } from '../failure.ts';
import { freePort } from '../up/ports.ts';
import type { Frame } from './diagram.ts';

interface ReadyLine {
  readonly http: string;
  readonly token: string;
}

export class DemoCluster {
  readonly httpUrl: string;
  readonly #token: string;
  readonly #child: ChildProcess;
  readonly #dataDir: string;

  private constructor(child: ChildProcess, dataDir: string, ready: ReadyLine) {
    this.#child = child;
    this.#dataDir = dataDir;
    this.httpUrl = ready.http;
    this.#token = ready.token;
  }

  static async start(): Promise<DemoCluster> {
    const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-demo-'));
    const main = fileURLToPath(new URL('../main.js', import.meta.url));
    const child = spawn(process.execPath, [main, 'up', '--json', '--seed', 'random'], {
      env: {
        ...process.env,
        SIGNMESH_DATA_DIR: dataDir,
        SIGNMESH_HTTP_PORT: String(await freePort()),
        SIGNMESH_GRPC_PORT: String(await freePort()),
        // Frames are logged by name, so that they can be drawn.
        SIGNMESH_LOG_LEVEL: 'debug',
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
      throw new Failure(`The demo's cluster did not start.\n${said.trim()}`);
    }
    return new DemoCluster(child, dataDir, JSON.parse(line) as ReadyLine);
  }

  /** One call of the signing API; the answer as JSON. */
  async call(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.httpUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Failure(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  /** The frames of one session so far, in the order in which the coordinator saw them. */
  frames(session: string): Frame[] {
    const log = readFileSync(join(this.#dataDir, 'logs', 'coordinator.log'), 'utf8');
    return log
      .split('\n')
      .filter((line) => line.includes('"event":"frame"'))
      .map((line) => JSON.parse(line) as Frame & { readonly session: string })
      .filter((frame) => frame.session === session);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await gone;
    }
    rmSync(this.#dataDir, { recursive: true, force: true });
  }
}
