/** A gateway or worker of a world, from start to start, as an external process of the clusters. */
import type { RandomBytes } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { KeyRing } from '../../wallets/store/secrets/key-ring.ts';
import type { SimClusters } from '../cluster/clusters.ts';
import type { ExternalProcess } from '../cluster/external-processes.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';
import type { ApiServer } from './exchange.ts';
import { type SimGateway, type SimulatedClusterLink, startGateway, type WorldConfig } from './gateway-process.ts';
import type { WorldOptions } from './options.ts';
import { type LifeHost, ProcessLife } from './process-life.ts';
import type { Providers } from './providers-side.ts';
import { type Queues, reconQueueOf, webhookQueueOf } from './queues.ts';
import type { Receivers } from './receivers.ts';
import type { SimRedis } from './redis-side.ts';
import { startWorker } from './worker-process.ts';

/** The world around it. */
export interface ServiceHost extends Pick<LifeHost, 'callLeaves' | 'note'> {
  readonly time: VirtualTime;
  readonly options: WorldOptions;
  readonly config: WorldConfig;
  readonly clusters: () => SimClusters;
  readonly redis: SimRedis;
  readonly queues: Queues;
  readonly providers: Providers;
  readonly receivers: Receivers;
  readonly ring: KeyRing;
  random(label: string): RandomBytes;
  log(process: ProcessName): Log;
  /** A call to a cluster leaves a gateway. */
  called(cluster: number): void;
}

export class ServiceProcess implements ApiServer {
  readonly name: ProcessName;
  /** Calls of clients that wait for its answer; each fails when it dies. */
  readonly callers = new Set<() => void>();
  readonly #host: ServiceHost;
  #life: ProcessLife | undefined;
  #gateway: SimGateway | undefined;

  constructor(name: ProcessName, host: ServiceHost) {
    this.name = name;
    this.#host = host;
  }

  get isGateway(): boolean {
    return this.name.startsWith('gateway');
  }

  /** undefined: it is down. */
  get life(): ProcessLife | undefined {
    return this.#life;
  }

  get gateway(): SimGateway | undefined {
    return this.#gateway;
  }

  get external(): ExternalProcess {
    const { name } = this;
    const life: ExternalProcess['life'] = {
      start: (boot) => this.#start(boot),
      crash: () => {
        this.#life?.die();
        this.#life = undefined;
        this.#gateway = undefined;
        for (const fail of [...this.callers]) fail();
      },
      pause: () => this.#life?.pause(),
      resume: () => this.#life?.resume(),
    };
    if (!this.isGateway) return { name, life };
    return {
      ...{ name, life },
      link: (cluster) => ({
        address: () => `gateway/${this.#host.clusters().first.bootOf(name)}`,
        arrived: (message) => this.#life?.enter(() => this.#gateway?.arrived(cluster, message)),
        linked: (up) => this.#life?.enter(() => this.#gateway?.linked(cluster, up)),
      }),
    };
  }

  #start(boot: string): void {
    const { name } = this;
    const { time, options, config, queues, ring, redis: memory, ...host } = this.#host;
    const clusters = this.#host.clusters();
    const { callLeaves, note } = host;
    const life = new ProcessLife(
      {
        ...{ time, callLeaves, note },
        nowMs: (process) => clusters.first.nowMs(process),
        crash: (process) => clusters.first.crash(process, { restartAfterMs: 500 }),
      },
      name,
      boot,
      this.#host.random(boot),
    );
    this.#life = life;
    const redis = memory.client(life, this.#host.random(`way/${boot}`));
    const { rateLimits, checkResponses = false, served, readyMade } = options;
    const log = options.logOf?.(name) ?? this.#host.log(name);
    const providers = host.providers.of(life);
    const parts = { redis, ring, log, config, reconQueue: reconQueueOf(queues, life, memory, log) };
    if (this.isGateway) {
      this.#gateway = startGateway(life, {
        ...{ ...parts, providers, queues, rateLimits, checkResponses, served, readyMade },
        clusters: this.#reached(clusters),
        identitySeed: clusters.gatewaySeed,
      });
    } else {
      startWorker(life, {
        ...parts,
        books: providers.custodianBooks,
        queue: webhookQueueOf(queues, life, memory, log),
        send: options.egress?.(life) ?? host.receivers.sender(life),
        scheduleMs: options.retryScheduleMs,
        relay: options.relay,
        version: served?.version,
      });
    }
    time.woken();
  }

  /** The clusters as this gateway reaches them. */
  #reached({ each }: SimClusters): readonly SimulatedClusterLink[] {
    return each.map((cluster, index) => ({
      roster: cluster.roster,
      send: (message, trace) => {
        if (message.body.case === 'call') this.#host.called(index + 1);
        return cluster.sendFrom(this.name, message, trace);
      },
    }));
  }
}
