/**
 * The shared parts of the clusters of one simulated world: virtual time, Redis and the coordinators' records, and the processes that belong to
 * no cluster (Redis, gateways, the worker, the receiver). A world of one cluster has them for itself.
 */
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { type MemoryCoordinatorStore, memoryCoordinatorStore } from './memory-stores.ts';
import type { ProcessTable } from './processes.ts';
import { RedisReach } from './store-side.ts';
import { VirtualTime } from './virtual-time.ts';

/** A cluster of the world, as other clusters affect it. */
export interface ClusterMember {
  /** Its coordinator wrote an event. */
  logged(tenant: string, event: LoggedEvent, sequence: number): void;
  /** The log of all clusters has grown. */
  logGrew(): void;
  /** Redis answers, or no longer does. */
  redisAnswers(isUp: boolean): void;
}

export class SharedWorld {
  readonly time: VirtualTime;
  readonly redis: RedisReach;
  readonly processes: ProcessTable = new Map();
  readonly store: MemoryCoordinatorStore;
  /** Of the identity that all gateways share; the first cluster's randomness makes it. */
  gatewaySeed: Uint8Array | undefined;
  /** By number, from 1. */
  readonly #members: ClusterMember[] = [];

  constructor(time = new VirtualTime(), redis = new RedisReach()) {
    this.time = time;
    this.redis = redis;
    this.store = memoryCoordinatorStore((tenant, event, sequence, cluster) => {
      this.#members[cluster - 1]!.logged(tenant, event, sequence);
      for (const member of this.#members) member.logGrew();
    });
  }

  /** Clusters join in the order of their numbers. */
  join(member: ClusterMember): void {
    this.#members.push(member);
  }

  redisIs(isUp: boolean): void {
    if (this.redis.set(isUp)) for (const member of this.#members) member.redisAnswers(isUp);
  }
}
