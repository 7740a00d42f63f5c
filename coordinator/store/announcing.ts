/** Announces a live cluster in the registry: every second it reports that it is alive, and its state. */
import type { Log } from '../../core/actors/live/ports.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { RedisClusters } from '../../core/redis/redis-clusters.ts';
import { defaultSharing, type Roster } from '../../proto/roster.ts';

export const announceEveryMs = 1_000;
/** The weight of the last second in the load. */
const latestWeight = 0.4;

export class Announcing {
  readonly #registry: RedisClusters;
  readonly #roster: Roster;
  readonly #url: string;
  readonly #log: Log;
  readonly #nodes = new Set<number>();
  #calls = 0;
  #load = 0;
  #takenBy = '';

  constructor(registry: RedisClusters, roster: Roster, url: string, log: Log) {
    this.#registry = registry;
    this.#roster = roster;
    this.#url = url;
    this.#log = log;
  }

  /** A call has arrived. */
  called(): void {
    this.#calls += 1;
  }

  /** The link of a node came up or was lost; 0: of a gateway. */
  linked(nodeId: number, isUp: boolean): void {
    if (nodeId > 0 && isUp) this.#nodes.add(nodeId);
    else this.#nodes.delete(nodeId);
  }

  /** Call it once every `announceEveryMs`. Never rejects. */
  async announce(): Promise<void> {
    this.#load += latestWeight * (this.#calls - this.#load);
    this.#calls = 0;
    const { clusterId, number = firstCluster, nodes, sharing = defaultSharing(nodes.length) } = this.#roster;
    const state = {
      url: this.#url,
      nodesTotal: nodes.length,
      nodesReady: this.#nodes.size,
      threshold: sharing.threshold,
      keyNodes: sharing.totalNodes,
      load: Math.round(this.#load * 10) / 10,
    };
    // The store's watch logs why Redis refuses writes.
    const other = await this.#registry.announce(number, clusterId, state).catch(() => undefined);
    if (other !== undefined && other !== this.#takenBy) {
      this.#log.error(
        { event: 'cluster.number_taken', other },
        `another cluster announces itself as cluster ${number}: gateways do not find this one`,
      );
    }
    this.#takenBy = other ?? '';
  }

  /** Announces an orderly stop, so that no gateway tries to reach it. Never rejects. */
  async withdraw(): Promise<void> {
    if (this.#takenBy === '') await this.#registry.withdraw(this.#roster.number ?? firstCluster).catch(() => undefined);
  }
}
