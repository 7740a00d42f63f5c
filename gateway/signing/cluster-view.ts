/**
 * The last reported states of the clusters, the gateway's own problems, and the resulting health.
 */

import { firstCluster } from '../../core/redis/clusters.ts';
import type { ClusterStatus } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';

/**
 * Of a cluster. `ok`: every node is ready, and so is the session store. `degraded`: nodes are missing, but a quorum can sign; or
 * what is stored cannot be changed. `unavailable`: no coordinator, no quorum, or no session store; ceremonies fail.
 *
 * Of several: `ok` and `unavailable` when all of them are, else `degraded`. A gateway that has not started yet is `unavailable`.
 */
export type ClusterHealth = 'ok' | 'degraded' | 'unavailable';

/** The gateway's own problems. */
export interface Hindrance {
  readonly health: 'degraded' | 'unavailable';
  /** For people; it names no address. */
  readonly reason: string;
}

export interface OneCluster {
  readonly number: number;
  readonly health: ClusterHealth;
  /** undefined while its coordinator is not connected, or until it has spoken. */
  readonly status: ClusterStatus | undefined;
  readonly isConnected: boolean;
  readonly reasons: readonly string[];
}

const rank: Readonly<Record<ClusterHealth, number>> = { ok: 0, degraded: 1, unavailable: 2 };

export class ClusterView {
  readonly #clusters: Map<number, { status: ClusterStatus | undefined; isConnected: boolean }>;
  #health: ClusterHealth = 'unavailable';
  readonly #listeners: ((health: ClusterHealth) => void)[] = [];
  readonly #hindrances = new Map<string, Hindrance>();

  constructor(numbers: readonly number[] = [firstCluster]) {
    this.#clusters = new Map(numbers.map((number) => [number, { status: undefined, isConnected: false }]));
  }

  get health(): ClusterHealth {
    return this.#health;
  }

  /** By number. */
  get clusters(): readonly OneCluster[] {
    return [...this.#clusters].map(([number, { status, isConnected }]) => ({
      number,
      health: healthOf(status),
      status,
      isConnected,
      reasons: clusterReasons(status, isConnected),
    }));
  }

  statusOf(number: number): ClusterStatus | undefined {
    return this.#clusters.get(number)?.status;
  }

  isConnected(number: number): boolean {
    return this.#clusters.get(number)?.isConnected === true;
  }

  /** A coordinator is connected. */
  get coordinatorConnected(): boolean {
    return this.clusters.some(({ isConnected }) => isConnected);
  }

  /** Why health is not `ok`, one line each. */
  get reasons(): readonly string[] {
    const own = [...this.#hindrances.values()].map(({ reason }) => reason);
    const isOne = this.#clusters.size === 1;
    const theirs = this.clusters.flatMap(({ number, reasons }) =>
      reasons.map((reason) => (isOne ? reason : `cluster ${number}: ${reason}`)),
    );
    return [...theirs, ...own];
  }

  /** Sets the problem of this source; undefined clears it. */
  hinder(what: 'redis' | 'start', hindrance: Hindrance | undefined): void {
    if (hindrance === undefined) this.#hindrances.delete(what);
    else this.#hindrances.set(what, hindrance);
    this.#evaluate();
  }

  /** Called at once, then with every change. */
  onHealth(listener: (health: ClusterHealth) => void): void {
    this.#listeners.push(listener);
    listener(this.#health);
  }

  onStatus(status: ClusterStatus, number: number = firstCluster): void {
    this.#clusters.set(number, { status, isConnected: this.isConnected(number) });
    this.#evaluate();
  }

  /** The last report of a coordinator is void after its link is lost. */
  onLink(isConnected: boolean, number: number = firstCluster): void {
    this.#clusters.set(number, { status: undefined, isConnected });
    this.#evaluate();
  }

  #evaluate(): void {
    const all = [together(this.clusters), ...[...this.#hindrances.values()].map((one) => one.health)];
    const health = all.reduce((worst, one) => (rank[one] > rank[worst] ? one : worst));
    if (health === this.#health) return;
    this.#health = health;
    for (const listener of this.#listeners) listener(health);
  }
}

function together(clusters: readonly OneCluster[]): ClusterHealth {
  for (const all of ['ok', 'unavailable'] as const) if (clusters.every(({ health }) => health === all)) return all;
  return 'degraded';
}

function healthOf(status: ClusterStatus | undefined): ClusterHealth {
  if (status === undefined || !status.storeReady) return 'unavailable';
  const ready = status.nodesReady.length;
  if (ready < Math.max(1, status.quorum)) return 'unavailable';
  return ready < status.nodesTotal ? 'degraded' : 'ok';
}

function clusterReasons(status: ClusterStatus | undefined, isConnected: boolean): string[] {
  if (status === undefined) return [isConnected ? 'the coordinator has not spoken yet' : 'no coordinator is connected'];
  const ready = status.nodesReady.length;
  return [
    ...(status.storeReady ? [] : ['the session store does not answer']),
    ...(ready < status.nodesTotal ? [`${ready} of ${status.nodesTotal} nodes are ready`] : []),
  ];
}
