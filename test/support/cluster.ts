/**
 * A whole cluster as a person starts it: `signmesh up` with a data directory, ports and a private Redis of its own, its
 * processes known by name, so that a test can kill them.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRunning, readRecord } from '../../cli/common/process-records.ts';
import type { ReadyLine } from '../../clients/testing/ready-line.ts';
import { environmentOf, type Place, UpProcess } from '../../clients/testing/up-process.ts';
import { root } from '../cli/support/up-process.ts';
import { allGone } from './alive.ts';
import { type GrpcApi, grpcApi, type HttpApi, httpApi } from './client.ts';
import { RestClient } from './rest.ts';
import { until } from './until.ts';

export type RoleName = 'redis' | 'coordinator' | 'gateway' | 'worker' | `node-${number}` | `nodes-1-${number}`;

export interface ClusterOptions {
  /** Settings of `up`, over the defaults of tests: no rate limits, and no faults, whose proxies cost a tenth of a start. */
  readonly environment?: NodeJS.ProcessEnv;
  /** 5. */
  readonly nodes?: number;
  /** A process for each node, for tests that kill, hold or read one. Otherwise they share one: a start costs half as much. */
  readonly nodesApart?: boolean;
  /** A file that gets the output of `up` for people. */
  readonly outputFile?: string;
}

/** A cluster that another process started and ends. */
export interface Attached {
  readonly place: Place;
  readonly ready: ReadyLine;
  /** As it was started. */
  readonly options?: ClusterOptions;
  /** Of the tenant that `http` and `grpc` speak for; the sandbox's own. */
  readonly token?: string;
}

export interface HealthBody {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly nodes_ready: number;
  readonly [field: string]: unknown;
}

/** Resolves when everything is ready. The caller stops the cluster. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-cluster-'));
  const cluster = new TestCluster({ dataDir }, options);
  await cluster.start();
  return cluster;
}

export class TestCluster {
  readonly place: Place;
  readonly nodeIds: readonly number[];
  readonly roles: readonly RoleName[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #others: ChildProcess[] = [];
  readonly #connections: GrpcApi[] = [];
  #up: UpProcess | undefined;
  #ready: ReadyLine | undefined;
  #isOurs = true;
  #token: string | undefined;
  /** What earlier starts of `up` said. */
  #said = '';
  readonly #outputFile: string | undefined;
  /** Sizes in bytes of the files, by path, when this test attached: their contents until then are not of this test. */
  readonly #sizes = new Map<string, number>();

  constructor(place: Place, { nodes = 5, nodesApart = false, environment: settings = {}, outputFile }: ClusterOptions) {
    this.place = place;
    this.#outputFile = outputFile;
    this.nodeIds = Array.from({ length: nodes }, (_, index) => index + 1);
    const ofNodes = nodesApart ? this.nodeIds.map((id) => `node-${id}` as const) : [`nodes-1-${nodes}` as const];
    this.roles = ['redis', 'coordinator', ...ofNodes, 'gateway', 'worker'];
    this.#environment = {
      SIGNMESH_RATE_LIMIT: 'off',
      SIGNMESH_FAULTS: 'off',
      SIGNMESH_NODES: String(nodes),
      SIGNMESH_NODES_PER_PROCESS: nodesApart ? '1' : String(nodes),
      ...settings,
    };
  }

  /** `stop` ends what this test has started. `output` and the logs begin now. */
  static attach({ place, ready, options = {}, token }: Attached): TestCluster {
    const cluster = new TestCluster(place, options);
    cluster.#ready = ready;
    cluster.#isOurs = false;
    cluster.#token = token;
    const files = [...cluster.roles.map((role) => cluster.logPath(role)), options.outputFile ?? ''];
    for (const path of files) cluster.#sizes.set(path, statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    return cluster;
  }

  get dataDir(): string {
    return this.place.dataDir;
  }

  get ready(): ReadyLine {
    if (this.#ready === undefined) throw new Error('the cluster was never ready');
    return this.#ready;
  }

  get httpUrl(): string {
    return this.ready.http;
  }

  get token(): string {
    return this.#token ?? this.ready.token;
  }

  /** Everything that `up` wrote, over all starts. */
  get output(): string {
    if (!this.#isOurs) return this.#textOf(this.#outputFile ?? '');
    return this.#said + (this.#up?.output ?? '');
  }

  /** Starts `up`; again after `killEverything` or `end`. */
  async start(): Promise<void> {
    this.#said += this.#up?.output ?? '';
    const file = this.#outputFile;
    this.#up = new UpProcess(this.place, {
      environment: this.#environment,
      ...(file !== undefined && { onOutput: (text: string) => appendFileSync(file, text) }),
    });
    try {
      this.#ready = await this.#up.ready();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** SIGTERM to `up`; resolves with its exit code when every process is gone. The data directory stays. */
  async end(): Promise<number | undefined> {
    this.#up?.child.kill('SIGTERM');
    const exitCode = await this.#up?.exited;
    if (this.#ready) await allGone(this.#ready.pids);
    return exitCode;
  }

  /** Ends what this cluster started, and removes its data. Repeatable; for `afterAll`. */
  async stop(): Promise<void> {
    for (const connection of this.#connections.splice(0)) connection.close();
    for (const child of this.#others.splice(0)) child.kill('SIGKILL');
    if (!this.#isOurs) return;
    // A stopped (SIGSTOP) process could not follow a polite request.
    for (const role of this.roles) this.signal(role, 'SIGCONT');
    if (this.#up !== undefined && this.#up.exitCode === undefined) await this.end();
    for (const path of [this.dataDir, this.#outputFile ?? this.dataDir])
      rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  http(token = this.token, onText?: (text: string) => void): HttpApi {
    return httpApi({ baseUrl: () => this.httpUrl, token, onText });
  }

  get rest(): RestClient {
    return new RestClient(() => this.httpUrl, this.token);
  }

  grpc(token = this.token): GrpcApi {
    const connection = grpcApi(this.ready.grpc, token);
    this.#connections.push(connection);
    return connection;
  }

  /** undefined while it is down. */
  pid(role: RoleName): number | undefined {
    const record = readRecord(join(this.dataDir, 'run', `${role}.pid`));
    return record !== undefined && isRunning(record) ? record.pid : undefined;
  }

  /** Signals the process that plays the role now; returns its id, or undefined when it is down anyway. */
  signal(role: RoleName, name: NodeJS.Signals): number | undefined {
    const pid = this.pid(role);
    if (pid !== undefined) sendSignal(pid, name);
    return pid;
  }

  /** kill -9; returns the id of the process that died. Waits for one to kill if the role is down. */
  async kill(role: RoleName): Promise<number> {
    return until(() => this.signal(role, 'SIGKILL'), `a ${role} to kill, of ${this.roles.join(', ')}`);
  }

  /** Resolves when another process plays the role and says that it serves. */
  async back(role: RoleName, deadPid: number): Promise<void> {
    await until(
      () => {
        const pid = this.pid(role);
        return pid !== undefined && pid !== deadPid;
      },
      () => `another ${role} after process ${deadPid}; up said:\n${this.output}`,
    );
  }

  /** Kills a role and holds its successor (SIGSTOP) before it serves. Resolves with the way to let it go. */
  async hold(role: RoleName): Promise<() => void> {
    const dead = await this.kill(role);
    const held = await until(
      () => {
        const pid = this.pid(role);
        return pid === dead ? undefined : pid;
      },
      `a successor of ${role}`,
      1,
    );
    sendSignal(held, 'SIGSTOP');
    return () => sendSignal(held, 'SIGCONT');
  }

  /** The gateway's word; `unavailable` with zeros while there is no gateway. */
  async health(): Promise<HealthBody> {
    try {
      const response = await fetch(`${this.httpUrl}/v1/health`, { signal: AbortSignal.timeout(3000) });
      return (await response.json()) as HealthBody;
    } catch {
      return { status: 'unavailable', nodes_ready: 0 };
    }
  }

  async untilHealth(status: HealthBody['status']): Promise<HealthBody> {
    let last: HealthBody | undefined;
    return until(
      async () => {
        last = await this.health();
        return last.status === status ? last : undefined;
      },
      () => `health "${status}"; it is ${JSON.stringify(last)}; up said:\n${this.output}`,
    );
  }

  /** kill -9 of `up`, every child and Redis, in one go; resolves when all are gone. */
  async killEverything(): Promise<void> {
    const pids = [this.#up?.child.pid, ...this.roles.map((role) => this.pid(role))].filter((pid) => pid !== undefined);
    for (const pid of pids) sendSignal(pid, 'SIGKILL');
    await allGone(Object.fromEntries(pids.map((pid) => [String(pid), pid])));
    await this.#up?.exited;
  }

  logPath(role: RoleName): string {
    if (!this.roles.includes(role)) throw new Error(`this cluster has no ${role}, but ${this.roles.join(', ')}`);
    return join(this.dataDir, 'logs', `${role}.log`);
  }

  log(role: RoleName): string {
    return this.#textOf(this.logPath(role));
  }

  /** Empty without the file. */
  #textOf(path: string): string {
    if (!existsSync(path)) return '';
    const bytes = readFileSync(path);
    const size = this.#sizes.get(path) ?? 0;
    // A log that was turned over begins again.
    return bytes.subarray(size <= bytes.length ? size : 0).toString('utf8');
  }

  /** Every log file, also those that were turned over. */
  logs(): readonly { readonly name: string; readonly text: string }[] {
    const folder = join(this.dataDir, 'logs');
    return readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
  }

  /** The log's records of one event or message, oldest first. Words that are no record are left out. */
  records(role: RoleName, event: string): readonly Record<string, unknown>[] {
    return parseRecords(this.log(role)).filter((record) => record.event === event || record.msg === event);
  }

  /** With the password. */
  redisUrl(): string {
    const config = readFileSync(join(this.dataDir, 'redis', 'redis.conf'), 'utf8');
    const port = /^port (\d+)$/m.exec(config)?.[1];
    const password = /^requirepass (\S+)$/m.exec(config)?.[1];
    return `redis://:${password}@127.0.0.1:${port}`;
  }

  /** Where the coordinator listens for nodes and gateways. */
  coordinatorUrl(): string {
    const records = parseRecords(readFileSync(this.logPath('coordinator'), 'utf8'));
    const url = records.findLast(({ msg }) => msg === 'coordinator started')?.url;
    if (typeof url !== 'string') throw new Error('the coordinator has not said where it listens');
    return url;
  }

  /** A further role process on this cluster's data and Redis, not supervised. It dies with the cluster. */
  spawnRole(args: readonly string[], settings: NodeJS.ProcessEnv): RoleProcess {
    const role = new RoleProcess(args, { ...environmentOf(this.place), ...this.#environment, ...settings });
    this.#others.push(role.child);
    return role;
  }
}

/** `signmesh coordinator`, `node`, `gateway` or `worker`, started by hand. */
export class RoleProcess {
  readonly child: ChildProcess;
  output = '';
  exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;

  constructor(args: readonly string[], settings: NodeJS.ProcessEnv) {
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
    this.child = spawn(process.execPath, [main, ...args], {
      cwd: root,
      env: settings,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.child.on('close', (code, signal) => {
      this.exit = { code, signal };
    });
  }

  records(event: string): readonly Record<string, unknown>[] {
    return parseRecords(this.output).filter((record) => record.event === event || record.msg === event);
  }
}

export function parseRecords(text: string): readonly Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      // Cut in two by the death of its writer.
      return [];
    }
  });
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
