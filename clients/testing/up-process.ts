/**
 * `signmesh up` as a child process: tests, benchmarks, the demo and live scenarios all start a cluster this way. It gets a
 * private Redis, whatever the environment of this process says, and ends with this process at the latest.
 *
 * A start has no time limit, since a busy machine may need long. `up` ends with the reason when it makes no progress; this class
 * only limits its silence.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadyLine } from './ready-line.ts';

export interface Place {
  readonly dataDir: string;
  /** Any free one by default: the ready line says which. */
  readonly httpPort?: number;
  readonly grpcPort?: number;
}

export interface UpProcessOptions {
  /** Variables (docs/configuration.md) over those of this process. */
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
  /** Program and arguments. `node cli/signmesh.mjs up --json --no-embedded`. */
  readonly command?: readonly string[];
  /** Gets the output of `up` for people, as it arrives. */
  readonly onOutput?: (text: string) => void;
}

/** `up` ended before it was ready. */
export class StartFailed extends Error {}

/** `up` prints every second what it waits for; before that the command may compile a checkout, for a minute or two. */
const silentWithinMs = 300_000;
const saidCharsMax = 1_000_000;

export class UpProcess {
  readonly child: ChildProcess;
  /** Resolves when it has ended, with its exit code; -1 after a signal. */
  readonly exited: Promise<number>;
  exitCode: number | undefined;
  stdout = '';
  /** The output for people, and the ready line. */
  output = '';
  #wake: () => void = () => undefined;

  constructor(place: Place, { environment = {}, command = upCommand(), onOutput }: UpProcessOptions = {}) {
    const [program, ...args] = command;
    this.child = spawn(program!, args, {
      env: { ...environmentOf(place), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const end = () => this.child.kill('SIGKILL');
    // `up` also ends with its parent, a moment later.
    process.once('exit', end);
    this.exited = new Promise((resolve) => {
      const over = (code: number) => {
        process.off('exit', end);
        this.exitCode = code;
        this.#wake();
        resolve(code);
      };
      this.child.once('exit', (code) => over(code ?? -1));
      this.child.once('error', (error) => {
        this.#said(error.message);
        over(-1);
      });
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout = (this.stdout + text).slice(-saidCharsMax);
      this.#said(text);
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said(text);
      onOutput?.(text);
    });
  }

  /** Resolves when every process serves. Rejects with StartFailed and the output of `up` when it ends before. */
  async ready(): Promise<ReadyLine> {
    for (;;) {
      const line = this.stdout.split('\n').find((one) => one.startsWith('{"event":"ready"') && one.endsWith('}'));
      if (line !== undefined) return JSON.parse(line) as ReadyLine;
      if (this.exitCode !== undefined) throw new StartFailed(`up ended with ${this.exitCode}:\n${this.output}`);
      await this.#somethingNew();
    }
  }

  #said(text: string): void {
    this.output = (this.output + text).slice(-saidCharsMax);
    this.#wake();
  }

  #somethingNew(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`up is not ready, and has said nothing for ${silentWithinMs / 1000} s:\n${this.output}`));
      }, silentWithinMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** The variables of a cluster at `place`: those of this process, except its Redis. */
export function environmentOf({ dataDir, httpPort = 0, grpcPort = 0 }: Place): NodeJS.ProcessEnv {
  const { REDIS_URL: _, ...inherited } = process.env;
  return {
    ...inherited,
    NO_COLOR: '1',
    SIGNMESH_DATA_DIR: dataDir,
    SIGNMESH_HTTP_PORT: String(httpPort),
    SIGNMESH_GRPC_PORT: String(grpcPort),
  };
}

export function upCommand(...words: readonly string[]): readonly string[] {
  return [process.execPath, join(packageRoot(), 'cli', 'signmesh.mjs'), 'up', '--json', '--no-embedded', ...words];
}

/** The folder of this package, from source or from the build. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'cli', 'signmesh.mjs'))) folder = dirname(folder);
  return folder;
}
