/**
 * The fault plane of the cluster that `up` runs: the engine, the proxy before the coordinator, the children it acts on,
 * and the answers to the gateway's questions.
 */
import { randomUUID } from 'node:crypto';
import { identityFromSeed } from '../../actors/live/handshake-crypto.ts';
import { systemRandom } from '../../actors/live/ports.ts';
import { faultEngine } from '../../faults/engine.ts';
import type { VendorConduct } from '../../faults/vocabulary/engine-contract.ts';
import { isControlRequest, PlaneControl } from '../../plane/control.ts';
import { FaultPlane, type FaultPlaneOptions } from '../../plane/fault-plane.ts';
import type { ProcessControl, QueueControl, SnapshotControl } from '../../plane/ports.ts';
import type { Roster } from '../../proto/roster.ts';
import { wireProtocolVersions } from '../../proto/wire.ts';
import { readSecret, secretFiles } from '../cluster-files/cluster-material.ts';
import type { Cluster } from './cluster.ts';
import { Processes } from './processes.ts';
import type { SupervisedChild } from './supervisor.ts';

export interface LivePlaneOptions {
  readonly dataDir: string;
  readonly roster: Roster;
  readonly coordinatorPort: number;
  readonly redisUrl: string;
  readonly ownsRedis: boolean;
  /** The simulated vendor, once it runs. */
  readonly vendor: () => { behave(conduct: VendorConduct | undefined): void } | undefined;
  readonly doors: FaultPlaneOptions['doors'];
  readonly say: (line: string) => void;
}

const linkedWithinMs = 5000;

/** Started before the cluster, whose processes connect to it; `govern` gives it the processes. */
export class LivePlane {
  readonly #options: LivePlaneOptions;
  readonly #plane: FaultPlane;
  #processes: Processes | undefined;
  #control: PlaneControl | undefined;
  #stopping = false;

  constructor(options: LivePlaneOptions) {
    this.#options = options;
    const { dataDir, roster, say, ownsRedis, doors, redisUrl, coordinatorPort } = options;
    const engine = faultEngine({
      nodesTotal: roster.nodes.length,
      random: systemRandom,
      roster,
      // Read when a node is first made to lie, and not before.
      identitySeed: (nodeId) => readSecret(dataDir, secretFiles.nodeIdentity(nodeId)),
      world: 'live',
    });
    this.#plane = new FaultPlane({
      engine,
      nodesTotal: roster.nodes.length,
      processes: this.#later(),
      queue: this.#queue(redisUrl),
      coordinatorUrl: `ws://127.0.0.1:${coordinatorPort}`,
      ownsRedis,
      doors,
      handshakeOf: (nodeId) => ({
        protocolVersions: wireProtocolVersions,
        clusterId: roster.clusterId,
        joinSecret: readSecret(dataDir, secretFiles.join),
        identity: identityFromSeed(readSecret(dataDir, secretFiles.nodeIdentity(nodeId))),
        role: 'node',
        nodeId,
        boot: randomUUID(),
        coordinatorKey: roster.coordinator,
      }),
      vendor: (conduct) => this.#options.vendor()?.behave(conduct),
      say,
    });
  }

  get plane(): FaultPlane {
    return this.#plane;
  }

  /** Resolves with the URL at which nodes and gateway find the coordinator. */
  start(): Promise<string> {
    return this.#plane.start();
  }

  /** `snapshots`: made over the processes; undefined without a Redis of our own. */
  govern(cluster: Cluster, snapshots: (processes: Processes) => SnapshotControl | undefined): Processes {
    const processes = new Processes(this.#options.dataDir, cluster.children, cluster.clocks, {
      changed: (process, what, why) => this.#changed(process, what, why),
      message: (child, message) => this.#answer(child, message),
    });
    this.#processes = processes;
    this.#control = new PlaneControl({ plane: this.#plane, processes, snapshots: snapshots(processes) });
    return processes;
  }

  /** Resolves when nodes and gateway have their links again, or have not found them for too long. */
  async untilLinked(): Promise<void> {
    const linked = (this.#processes?.names ?? []).filter((name) => name === 'gateway' || name.startsWith('node/'));
    await this.#plane.untilLinked(linked, linkedWithinMs);
  }

  /** Resumes paused processes; cuts the links when the processes have stopped. */
  release(): void {
    this.#stopping = true;
    for (const process of this.#processes?.names ?? []) this.#processes?.resume(process);
  }

  async stop(): Promise<void> {
    await this.#plane.stop();
  }

  #changed(process: string, what: 'up' | 'down' | 'paused' | 'resumed', why: string): void {
    this.#plane.recorder.process(process, what, why);
  }

  #answer(child: SupervisedChild, message: unknown): void {
    if (child.name !== 'gateway' || !isControlRequest(message) || this.#control === undefined || this.#stopping) return;
    // The next process of its name counts its questions anew: it would take the answer for its own.
    const { pid } = child;
    this.#control.answer(message).then((answer) => {
      if (child.pid === pid) child.send(answer);
    });
  }

  /** The children are there before the first order: those come from what is armed through the gateway. */
  #later(): ProcessControl {
    const there = (): Processes => {
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

  /** BullMQ is loaded when it is first needed. */
  #queue(redisUrl: string): QueueControl {
    const faults = () => import('./queue-faults.ts').then((module) => module.queueFaults(redisUrl));
    return {
      doubleDelivery: async () => (await faults()).doubleDelivery(),
      poisonJob: async () => (await faults()).poisonJob(),
    };
  }
}
