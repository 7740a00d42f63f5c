/**
 * What the coordinator last said of its cluster, what stands in this gateway's own way, and what health checks make of
 * both.
 */
import type { ClusterStatus } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';

/**
 * `ok`: every node is ready, and so is the session store. `degraded`: nodes are missing, but a quorum can sign; or what is
 * stored cannot be changed. `unavailable`: no coordinator, no quorum, or no session store; ceremonies fail. Or this
 * gateway has not started yet.
 */
export type ClusterHealth = 'ok' | 'degraded' | 'unavailable';

/** What stands in this gateway's own way. */
export interface Hindrance {
  readonly health: 'degraded' | 'unavailable';
  /** For people; it names no address. */
  readonly reason: string;
}

const rank: Readonly<Record<ClusterHealth, number>> = { ok: 0, degraded: 1, unavailable: 2 };

export class ClusterView {
  #status: ClusterStatus | undefined;
  #up = false;
  #health: ClusterHealth = 'unavailable';
  readonly #listeners: ((health: ClusterHealth) => void)[] = [];
  readonly #hindrances = new Map<string, Hindrance>();

  get health(): ClusterHealth {
    return this.#health;
  }

  /** undefined while no coordinator is connected, or until it has spoken. */
  get status(): ClusterStatus | undefined {
    return this.#status;
  }

  get coordinatorConnected(): boolean {
    return this.#up;
  }

  /** Why health is not `ok`, one line each. */
  get reasons(): readonly string[] {
    const own = [...this.#hindrances.values()].map(({ reason }) => reason);
    return [...clusterReasons(this.#status, this.#up), ...own];
  }

  /** `what` stands in the way from now on, or, with undefined, no more. */
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

  onStatus(status: ClusterStatus): void {
    this.#status = status;
    this.#evaluate();
  }

  /** What a coordinator said before the link was lost counts no more: the next one speaks for itself. */
  onLink(up: boolean): void {
    this.#up = up;
    this.#status = undefined;
    this.#evaluate();
  }

  #evaluate(): void {
    const all = [healthOf(this.#status), ...[...this.#hindrances.values()].map((one) => one.health)];
    const health = all.reduce((worst, one) => (rank[one] > rank[worst] ? one : worst));
    if (health === this.#health) return;
    this.#health = health;
    for (const listener of this.#listeners) listener(health);
  }
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
