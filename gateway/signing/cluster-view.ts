/** What the coordinator last said of its cluster, and what health checks make of it. */
import type { ClusterStatus } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';

/**
 * `ok`: every node is ready, and so is the session store. `degraded`: nodes are missing, but a quorum can sign.
 * `unavailable`: no coordinator, no quorum, or no session store; ceremonies fail.
 */
export type ClusterHealth = 'ok' | 'degraded' | 'unavailable';

export class ClusterView {
  #status: ClusterStatus | undefined;
  #up = false;
  #health: ClusterHealth = 'unavailable';
  readonly #listeners: ((health: ClusterHealth) => void)[] = [];

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

  /** Called at once, then with every change. */
  onHealth(listener: (health: ClusterHealth) => void): void {
    this.#listeners.push(listener);
    listener(this.#health);
  }

  onStatus(status: ClusterStatus): void {
    this.#status = status;
    this.#judge();
  }

  /** What a coordinator said before the link was lost counts no more: the next one speaks for itself. */
  onLink(up: boolean): void {
    this.#up = up;
    this.#status = undefined;
    this.#judge();
  }

  #judge(): void {
    const health = healthOf(this.#status);
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
