/** The bench's own cluster, in a temporary directory and on free ports. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtFile } from '../../../cli/common/built.ts';
import { errorText, Failure } from '../../../cli/common/failure.ts';
import { readRecord } from '../../../cli/common/process-records.ts';
import { type Client, createClient } from '../../../clients/client/index.ts';
import type { SigningCurve } from '../../../clients/load/calls/signing-caller.ts';
import type { ClusterKey } from '../../../clients/load/verdict/signatures.ts';
import { type LiveProcess, startLiveProcess } from '../../../clients/testing/live-process.ts';
import { probeVariable, profileVariable } from './probe-protocol.ts';

export class BenchCluster {
  readonly #live: LiveProcess;

  private constructor(live: LiveProcess) {
    this.#live = live;
  }

  static async start(profileFolder: string | undefined): Promise<BenchCluster> {
    if (profileFolder !== undefined) mkdirSync(profileFolder, { recursive: true });
    const probe = pathToFileURL(builtFile('tools/bench/probe.js'));
    const environment = (dataDir: string) => {
      // The first process finds its probe before it makes its own files.
      mkdirSync(dataDir, { mode: 0o700 });
      return {
        SIGNMESH_RATE_LIMIT: 'off',
        SIGNMESH_FAULTS: 'off',
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${probe.href}`.trim(),
        [probeVariable]: dataDir,
        ...(profileFolder !== undefined && { [profileVariable]: profileFolder }),
      };
    };
    try {
      return new BenchCluster(await startLiveProcess({ environment }));
    } catch (error) {
      throw new Failure(`The cluster to measure did not start.\n${errorText(error).trim()}`);
    }
  }

  get dataDir(): string {
    return this.#live.dataDir;
  }

  get httpUrl(): string {
    return this.#live.ready.http;
  }

  get grpcAddress(): string {
    return this.#live.ready.grpc;
  }

  /** Where the coordinator listens, as its log says. */
  get coordinatorUrl(): string {
    const log = readFileSync(join(this.dataDir, 'logs', 'coordinator.log'), 'utf8');
    const url = /"url":"(ws:[^"]+)".*"coordinator started"/.exec(log)?.[1];
    if (url === undefined) throw new Error('the coordinator has not said where it listens');
    return url;
  }

  /** With its password. */
  get redisUrl(): string {
    const config = readFileSync(join(this.dataDir, 'redis', 'redis.conf'), 'utf8');
    const [port, password] = [/^port (\d+)$/m, /^requirepass (\S+)$/m].map((line) => line.exec(config)?.[1]);
    return `redis://:${password}@127.0.0.1:${port}`;
  }

  /** For what is not measured. */
  get client(): Client {
    return createClient({ baseUrl: this.httpUrl, token: this.token });
  }

  get token(): string {
    return this.#live.ready.token;
  }

  /** By role: "redis", "coordinator", "node-1", …, "gateway", and "up", which watches them; of the present processes. */
  get pids(): Readonly<Record<string, number>> {
    const { pids } = this.#live.ready;
    const now = (name: string) => readRecord(join(this.dataDir, 'run', `${name}.pid`))?.pid;
    return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, now(name) ?? pid]));
  }

  /** The ready-made key of a curve. */
  key(curve: SigningCurve): ClusterKey {
    const found = this.#live.ready.keys.find((key) => key.curve === curve);
    if (found === undefined) throw new Error(`the sandbox has no key on ${curve}`);
    return { walletId: found.wallet_id, curve, publicKey: Buffer.from(found.public_key, 'hex') };
  }

  /** The status of health: "ok" when every node is ready. */
  async health(): Promise<string> {
    return (await this.client.service.health({ deadlineMs: 5000 })).status;
  }

  stop(): Promise<void> {
    return this.#live.stop();
  }
}
