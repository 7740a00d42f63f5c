/**
 * The fault injectors of the clusters that `up` runs: for each an engine and the proxy before its coordinator; they act on the
 * children, and answer the gateways' questions.
 */
import { randomUUID } from 'node:crypto';
import { identityFromSeed } from '../../core/actors/live/handshake-crypto.ts';
import { systemRandom } from '../../core/actors/live/ports.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { defaultSharing, type Roster } from '../../proto/roster.ts';
import { wireProtocolVersions } from '../../proto/wire.ts';
import { isNode } from '../../scenarios/faults/cluster-names.ts';
import { faultEngine } from '../../scenarios/faults/engine.ts';
import type { VendorFaultConduct } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { FaultInjector, type FaultInjectorOptions } from '../../scenarios/injection/fault-injector.ts';
import { type Injector, ManyInjectors, processesIn } from '../../scenarios/injection/many-clusters.ts';
import type { ProcessControl, QueueControl, ScenarioHost, SnapshotControl } from '../../scenarios/injection/ports.ts';
import { nowMs } from '../../scenarios/injection/real-time.ts';
import { FrameRecorder } from '../../scenarios/injection/recorder.ts';
import { Recording } from '../../scenarios/injection/recording.ts';
import { isControlRequest, SandboxController } from '../../scenarios/injection/sandbox-control.ts';
import { clusterFolder, readSecret, secretFiles } from '../cluster-files/cluster-material.ts';
import { storedClocks } from '../cluster-files/stored-clocks.ts';
import type { Cluster } from './cluster.ts';
import { UpProcesses } from './process-control.ts';
import type { SupervisedChild } from './supervisor.ts';

export interface LivePlaneOptions {
  readonly dataDir: string;
  /** By number, from 1. */
  readonly rosters: readonly Roster[];
  /** Of the coordinator of this number, now; undefined: it does not listen yet. */
  readonly coordinatorUrl: (cluster: number) => string | undefined;
  /** Ports of other listeners. */
  readonly reservedPorts: ReadonlySet<number>;
  readonly redisUrl: () => string;
  readonly ownsRedis: boolean;
  /** The simulated vendor, once it runs. */
  readonly vendor: () => { behave(conduct: VendorFaultConduct | undefined): void } | undefined;
  readonly doors: FaultInjectorOptions['doors'];
  readonly say: (line: string) => void;
  readonly scenarios: ScenarioHost;
}

const linkedWithinMs = 5000;

/** Started before the clusters, whose processes connect to it; `govern` gives it the processes. */
export class LiveFaultInjection {
  readonly #options: LivePlaneOptions;
  readonly #injectors: readonly FaultInjector[];
  readonly #all: Injector;
  #processes: UpProcesses | undefined;
  #control: SandboxController | undefined;
  #stopping = false;

  constructor(options: LivePlaneOptions) {
    this.#options = options;
    const recording = new Recording();
    const beganMs = nowMs();
    this.#injectors = options.rosters.map((roster, index) =>
      this.#injectorOf(roster, new FrameRecorder(recording, index + 1, beganMs)),
    );
    const [only] = this.#injectors;
    this.#all = this.#injectors.length === 1 && only !== undefined ? only : new ManyInjectors(this.#injectors);
  }

  get injector(): Injector {
    return this.#all;
  }

  /** Resolves with the coordinators' URLs for nodes and gateways, and the ports of the first gateway's doors: REST, gRPC. */
  async start(): Promise<{ readonly urls: readonly string[]; readonly doors: readonly number[] }> {
    const started = await Promise.all(this.#injectors.map((injector) => injector.start()));
    return { urls: started.map(({ url }) => url), doors: started[0]?.doors ?? [] };
  }

  /** The coordinator of this number listens elsewhere now. */
  coordinatorMoved(cluster: number): void {
    this.#injectors[cluster - 1]?.coordinatorMoved();
  }

  #injectorOf(roster: Roster, recorder: FrameRecorder): FaultInjector {
    const { dataDir, say, ownsRedis, redisUrl, doors, coordinatorUrl, reservedPorts } = this.#options;
    const { number = firstCluster } = roster;
    const folder = clusterFolder(dataDir, number);
    const engine = faultEngine({
      nodesTotal: roster.nodes.length,
      random: systemRandom,
      roster,
      // Read only when a node is first made to lie.
      identitySeed: (nodeId) => readSecret(folder, secretFiles.nodeIdentity(nodeId)),
      world: 'live',
    });
    return new FaultInjector({
      engine,
      nodesTotal: roster.nodes.length,
      processes: processesIn(number, this.#later()),
      queue: this.#queue(redisUrl),
      coordinatorUrl: () => coordinatorUrl(number),
      reservedPorts,
      ownsRedis,
      // Before the first gateway: of no cluster.
      doors: number === firstCluster ? doors : undefined,
      handshakeOf: (nodeId) => ({
        protocolVersions: wireProtocolVersions,
        clusterId: roster.clusterId,
        joinSecret: readSecret(folder, secretFiles.join),
        identity: identityFromSeed(readSecret(folder, secretFiles.nodeIdentity(nodeId))),
        role: 'node',
        nodeId,
        boot: randomUUID(),
        coordinatorKey: roster.coordinator,
      }),
      vendor: (conduct) => this.#options.vendor()?.behave(conduct),
      clocks: storedClocks(folder),
      recorder,
      say,
    });
  }

  /** `snapshots`: made over the processes; undefined without a private Redis. */
  govern(cluster: Cluster, snapshots: (processes: UpProcesses) => SnapshotControl | undefined): UpProcesses {
    const processes = new UpProcesses(this.#options.dataDir, cluster.members, cluster.clocks, {
      changed: (process, what, why) => this.#changed(process, what, why),
      message: (child, message) => this.#answer(child, message),
    });
    this.#processes = processes;
    for (const name of processes.names) {
      if (name !== 'redis') cluster.clocks.set(name, this.#all.clockOffsetOf(name));
    }
    const clusters = this.#options.rosters.map(({ number = firstCluster, nodes, sharing }) => ({
      ...{ number, nodes: nodes.length, threshold: (sharing ?? defaultSharing(nodes.length)).threshold },
    }));
    this.#control = new SandboxController({
      ...{ injector: this.#all, processes, snapshots: snapshots(processes), about: { world: 'process', clusters } },
      scenarios: this.#options.scenarios,
    });
    return processes;
  }

  /** Resolves when nodes and gateway have their links again, or after too long a time without them. */
  async untilLinked(): Promise<void> {
    const linked = (this.#processes?.names ?? []).filter((name) => name === 'gateway' || isNode(name));
    await this.#all.untilLinked(linked, linkedWithinMs);
  }

  /** Resumes paused processes; cuts the links when the processes have stopped. */
  release(): void {
    this.#stopping = true;
    for (const process of this.#processes?.names ?? []) this.#processes?.resume(process);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#injectors.map((injector) => injector.stop()));
  }

  #changed(process: string, what: 'up' | 'down' | 'paused' | 'resumed', why: string): void {
    this.#all.recorder.process(process, what, why);
  }

  #answer(child: SupervisedChild, message: unknown): void {
    if (!isControlRequest(message) || this.#control === undefined || this.#stopping) return;
    // The next process of its name counts its questions anew: it would take the answer for its own.
    const { pid } = child;
    this.#control.answer(message).then((answer) => {
      if (child.pid === pid) child.send(answer);
    });
  }

  /** The children exist before the first order: orders come from faults that the gateway arms. */
  #later(): ProcessControl {
    const there = (): UpProcesses => {
      if (this.#processes === undefined) throw new Error('the cluster does not run yet');
      return this.#processes;
    };
    return {
      list: () => there().list(),
      crash: (process, crash) => there().crash(process, crash),
      restart: (process) => there().restart(process),
      pause: (process) => there().pause(process),
      resume: (process) => there().resume(process),
      setClock: (process, offsetMs) => there().setClock(process, offsetMs),
    };
  }

  /** BullMQ is loaded at its first use. */
  #queue(redisUrl: () => string): QueueControl {
    const faults = () => import('./queue-faults.ts').then((module) => module.queueFaults(redisUrl()));
    return {
      doubleDelivery: async () => (await faults()).doubleDelivery(),
      poisonJob: async () => (await faults()).poisonJob(),
    };
  }
}
