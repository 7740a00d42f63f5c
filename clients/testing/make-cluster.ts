/** Makes a cluster for a test, simulated or live, by its options. */
import { clustersMax } from '../../proto/limits.ts';
import type { TestCluster } from './cluster.ts';
import { needNode } from './node-version.ts';
import { checkNames, type OptionNames } from './option-names.ts';

export interface ClusterOptions {
  /**
   * false (default): simulated, in this process and in virtual time. true: real processes, started for this cluster. An address:
   * a running sandbox; `token` is one of its tokens, with every scope.
   */
  readonly live?: boolean | string;
  readonly token?: string;
  /**
   * true: the simulated cluster on real ports, for clients that need sockets: in this process, without Redis, and in real time.
   * Default false.
   */
  readonly listen?: boolean;
  /** Clusters under the same gateway: coordinators with their nodes. 1. */
  readonly clusters?: number;
  /** Of each cluster. 5. */
  readonly nodes?: number;
  /** Seed of the simulated world: the same seed and calls give the same run. */
  readonly seed?: string;
  /** A silent node is replaced after this time. Default 300. */
  readonly partialTimeoutMs?: number;
  /** How long a call waits for unreachable nodes. 2,000. */
  readonly nodesWaitMs?: number;
  /** Whether a webhook receiver gets every event; `delivered` returns them. Default false. */
  readonly receiver?: boolean;
  /** Variables of a new live sandbox (docs/configuration.md). */
  readonly environment?: Readonly<Record<string, string>>;
}

const optionNames: OptionNames<ClusterOptions> = {
  live: true,
  token: true,
  listen: true,
  clusters: true,
  nodes: true,
  seed: true,
  partialTimeoutMs: true,
  nodesWaitMs: true,
  receiver: true,
  environment: true,
};

/**
 * A running cluster. The caller stops it, or uses `await using`.
 *
 * @throws Error on an older Node.js than 20.19; TypeError for options that contradict each other; Error with the last output of a sandbox that does not start
 */
export async function cluster(options: ClusterOptions = {}): Promise<TestCluster> {
  needNode();
  checkNames('cluster', options, optionNames);
  const { live = false, listen = false, token, clusters = 1, nodes = 5, seed = 'test', environment } = options;
  const { partialTimeoutMs = 300, nodesWaitMs = 2000, receiver = false } = options;
  if (!Number.isInteger(nodes) || nodes < 2 || nodes > 100)
    throw new TypeError('nodes must be a whole number from 2 to 100');
  if (!Number.isInteger(clusters) || clusters < 1 || clusters > clustersMax)
    throw new TypeError(`clusters must be a whole number from 1 to ${clustersMax}`);
  if (live === false) {
    if (token !== undefined || environment !== undefined)
      throw new TypeError('token and environment are for live clusters');
    if (listen) {
      const { liveCluster } = await import('./live.ts');
      return liveCluster({ clusters, nodes, seed, partialTimeoutMs, nodesWaitMs, receiver });
    }
    const { simulatedCluster } = await import('./simulated.ts');
    return simulatedCluster({ clusters, nodes, seed, partialTimeoutMs, nodesWaitMs, receiver });
  }
  if (listen) throw new TypeError('listen is for simulated clusters: a live one listens already');
  if (typeof live === 'string' && !/^https?:$/.test(URL.canParse(live) ? new URL(live).protocol : '')) {
    throw new TypeError('live must be true, false, or the address of a running sandbox, e.g. http://127.0.0.1:8080');
  }
  if (typeof live === 'string' && token === undefined) {
    throw new TypeError('token is missing: a sandbox that runs already needs one with the scope sandbox:admin');
  }
  const { liveCluster } = await import('./live.ts');
  return liveCluster({
    clusters,
    nodes,
    partialTimeoutMs,
    nodesWaitMs,
    receiver,
    ...(environment && { environment }),
    ...(typeof live === 'string' && { running: { baseUrl: live.replace(/\/$/, ''), token: token! } }),
  });
}
