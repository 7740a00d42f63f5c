/**
 * The signing clusters of a world: every gateway has a link to each, and their coordinators store sessions in the Redis of the
 * world, beside the control plane's data. Processes of no cluster (gateways, workers, Redis) live with the first one.
 */
import { type CoordinatorRecord, sessionKey } from '../../coordinator/contract/messages.ts';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { Roster } from '../../proto/roster.ts';
import type { PortCallMade, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { SimSnapshot } from '../cluster/cluster.ts';
import { randomnessIn, SimClusters, type SimClustersOptions } from '../cluster/clusters.ts';
import type {
  ExternalProcess,
  ExternalProcesses,
  ExternalProcessHost,
  ExternalProcessLink,
} from '../cluster/external-processes.ts';
import { identitiesOf } from '../cluster/identities.ts';
import type { MemoryRedis } from '../redis/memory-redis.ts';
import { announceForever } from './announcements.ts';
import type { SimulatedClusterLink } from './gateway-process.ts';
import type { PortFate } from './process-life.ts';
import type { RunLoop } from './run-loop.ts';
import { sessionSide } from './session-side.ts';

export type ClusterSetOptions = Omit<SimClustersOptions, 'externalProcessesOf' | 'receiver' | 'deliveryScheduleMs'>;

/** The world around the clusters. */
export interface SharedServices {
  readonly redis: MemoryRedis;
  readonly loop: RunLoop;
  readonly guests: Omit<ExternalProcesses, 'sessions'>;
  /** A gateway's end of its link to a cluster. */
  readonly link: (gateway: ProcessName, cluster: number) => ExternalProcessLink;
}

export interface ClusterSetSnapshot {
  readonly cluster: SimSnapshot;
  /** Those after the first, if there are any. */
  readonly further?: readonly SimSnapshot[];
}

/** Of a gateway in a further cluster: its life is the first cluster's. */
const noLife: ExternalProcess['life'] = {
  start: () => undefined,
  crash: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

export class ClusterSet {
  all!: SimClusters;
  readonly #services: SharedServices;
  #rosters: readonly Roster[] = [];
  /** By cluster. */
  readonly #hosts: ExternalProcessHost[] = [];
  /** By cluster: of its coordinator's last start. */
  readonly #sessions: ReturnType<typeof sessionSide>[] = [];
  /** By cluster: counts a call to it. Empty with one cluster, which announces nothing. */
  #called: readonly (() => void)[] = [];

  constructor(services: SharedServices) {
    this.#services = services;
  }

  /** Makes the clusters, and starts all processes. */
  open(options: ClusterSetOptions): void {
    this.all = new SimClusters({
      ...options,
      externalProcessesOf: (cluster, host) => {
        this.#hosts.push(host);
        if (cluster === firstCluster) this.#rosters = rostersOf(options, host);
        return this.#externalProcessesOf(cluster, host);
      },
    });
    const { each } = this.all;
    const { redis, loop } = this.#services;
    if (each.length > 1) this.#called = each.map((cluster) => announceForever(cluster, redis, loop));
  }

  /** Of the first cluster. */
  get host(): ExternalProcessHost {
    return this.#hosts[0]!;
  }

  /** The clusters as this gateway reaches them. There is no route to one that does not exist yet. */
  reachedBy(gateway: ProcessName): readonly SimulatedClusterLink[] {
    return this.#rosters.map((roster, index) => ({
      roster,
      send: (message, trace) => {
        if (message.body.case === 'call') this.#called[index]?.();
        const host = this.#hosts[index];
        return host === undefined ? 'noRoute' : host.send(gateway, message, trace);
      },
    }));
  }

  /** The fate of a call of a port by the faults of all clusters; undefined: none is armed. */
  portCall(call: PortCallMade): PortFate | undefined {
    const verdicts = this.#hosts.flatMap((host) => {
      const verdict = host.portCall(call);
      return verdict === undefined ? [] : [{ host, ...verdict }];
    });
    if (verdicts.length === 0) return undefined;
    for (const { host, before } of verdicts) host.perform(before);
    const fate = verdicts.map((verdict) => verdict.fate).find((one) => one !== 'answered');
    const delayMs = verdicts.reduce((sum, verdict) => sum + verdict.delayMs, 0);
    return {
      ...(fate !== undefined && { fate }),
      ...(delayMs > 0 && { delayMs }),
      left: () => {
        for (const { host, after } of verdicts) host.perform(after);
      },
    };
  }

  /** The durable record of a session; undefined: there is none. */
  async storedSession(tenant: string, sessionId: string): Promise<SessionRecord | undefined> {
    for (const side of this.#sessions) {
      const record = await new Promise<CoordinatorRecord | undefined>((resolve) => {
        side.load(sessionKey(tenant, sessionId), (found) => resolve('record' in found ? found.record : undefined));
      });
      if (record?.kind === 'session') return record.session;
    }
    return undefined;
  }

  snapshot(): ClusterSetSnapshot {
    const [cluster, ...further] = this.all.each.map((one) => one.snapshot());
    return { cluster: cluster!, ...(further.length > 0 && { further }) };
  }

  /** See SimCluster.restore. */
  restore({ cluster, further = [] }: ClusterSetSnapshot, except: readonly ProcessName[]): void {
    for (const [index, one] of this.all.each.entries()) {
      if (index === 0) one.restore(cluster, except);
      else one.restore(further[index - 1]!);
    }
  }

  #externalProcessesOf(cluster: number, host: ExternalProcessHost): ExternalProcesses {
    const { redis, loop, guests, link } = this.#services;
    const elapsedMs = () => host.time.nowMs() - host.time.beganMs;
    const sessions: ExternalProcesses['sessions'] = (fence, of) => {
      const clock = { nowMs: () => host.processes.nowMs('coordinator') };
      const side = sessionSide(redis, { time: host.time, loop }, fence, { ...of, cluster, clock, elapsedMs });
      this.#sessions[cluster - firstCluster] = side;
      return side;
    };
    if (cluster === firstCluster) return { ...guests, sessions };
    const gateways = guests.all.filter((guest) => guest.link !== undefined);
    return { all: gateways.map(({ name }) => ({ name, life: noLife, link: link(name, cluster) })), sessions };
  }
}

/** Gateways start with the first cluster, and need the rosters of all. */
function rostersOf(options: ClusterSetOptions, { roster, gatewaySeed }: ExternalProcessHost): readonly Roster[] {
  const { clusters = firstCluster } = options;
  const further = Array.from({ length: clusters - firstCluster }, (_, index) => {
    const number = index + firstCluster + 1;
    return identitiesOf({ ...options, ...randomnessIn(number, options), number }, gatewaySeed).roster;
  });
  return [roster, ...further];
}
