/** A real `signmesh up` as a child of the test: how to start it, read its ready line, and make sure that it is gone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually, isAlive } from './eventually.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const signmesh = fileURLToPath(new URL('../../../cli/signmesh.mjs', import.meta.url));

export interface ReadyLine {
  readonly http: string;
  readonly grpc: string;
  readonly token: string;
  readonly approver_token: string;
  readonly keys: readonly { wallet_id: string; public_key: string; addresses: Record<string, string> }[];
  readonly pids: Readonly<Record<string, number>>;
}

export interface Place {
  readonly dataDir: string;
  readonly httpPort: number;
  readonly grpcPort: number;
}

export class UpProcess {
  readonly child: ChildProcess;
  /** What a person would read, and the ready line. */
  output = '';
  stdout = '';
  exitCode: number | undefined;

  constructor(
    place: Place,
    command: readonly string[] = [process.execPath, signmesh, 'up', '--json'],
    extra: NodeJS.ProcessEnv = {},
  ) {
    const [program, ...args] = command;
    this.child = spawn(program!, args, {
      cwd: root,
      env: { ...environment(place), ...extra },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.output += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    this.child.on('exit', (code) => {
      this.exitCode = code ?? -1;
    });
  }

  async ready(): Promise<ReadyLine> {
    await eventually('ready', () => this.#readyText() !== undefined || this.exitCode !== undefined, 60_000);
    const text = this.#readyText();
    if (text === undefined) throw new Error(`it ended with ${this.exitCode}:\n${this.output}`);
    return JSON.parse(text) as ReadyLine;
  }

  async exit(): Promise<number> {
    await eventually(`exit\n${this.output}`, () => this.exitCode !== undefined, 30_000);
    return this.exitCode ?? -1;
  }

  says(pattern: RegExp): Promise<void> {
    return eventually(`${pattern} in:\n${this.output}`, () => pattern.test(this.output));
  }

  #readyText(): string | undefined {
    return this.stdout.split('\n').find((line) => line.startsWith('{"event":"ready"') && line.endsWith('}'));
  }
}

export function allGone(pids: Readonly<Record<string, number>>): Promise<void> {
  return eventually(`gone: ${JSON.stringify(pids)}`, () => !Object.values(pids).some((pid) => isAlive(pid)));
}

export function environment({ dataDir, httpPort, grpcPort }: Place): NodeJS.ProcessEnv {
  const { REDIS_URL: _, ...rest } = process.env;
  return {
    ...rest,
    SIGNMESH_DATA_DIR: dataDir,
    SIGNMESH_HTTP_PORT: String(httpPort),
    SIGNMESH_GRPC_PORT: String(grpcPort),
    NO_COLOR: '1',
  };
}
