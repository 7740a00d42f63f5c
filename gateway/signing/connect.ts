/** Connects calls and cluster view to the links: replies go to the calls, the clusters' states to the view. */
import type { RandomBytes } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import { type ClusterRegistry, firstCluster } from '../../core/redis/clusters.ts';
import { type ClusterBook, ClusterCalls, type ClusterCallsOptions } from './cluster-calls.ts';
import { ClusterView } from './cluster-view.ts';
import { type Calls, SigningCalls, type SigningCallsOptions } from './signing-calls.ts';

export interface SigningRoom {
  readonly calls: SigningCalls;
  readonly cluster: ClusterView;
}

/** Of one cluster. */
export function connectSigning(options: SigningCallsOptions): SigningRoom {
  const cluster = new ClusterView();
  return { calls: connect(firstCluster, options, cluster), cluster };
}

type Shared = Omit<SigningCallsOptions, 'link' | 'orders' | 'roster'>;

export interface ClustersOptions extends Shared, Pick<ClusterCallsOptions, 'readyMade'> {
  /** By number. */
  readonly clusters: ReadonlyMap<number, Pick<SigningCallsOptions, 'link' | 'orders' | 'roster'>>;
  readonly registry: ClusterRegistry;
  readonly random: RandomBytes;
}

export interface ClusterRooms {
  readonly calls: Calls & Pick<SigningCalls, 'stop'>;
  readonly cluster: ClusterView;
  /** The stored state is another. */
  readonly restored: () => void;
}

/** Of one cluster or several. */
export function connectClusters(options: ClustersOptions): ClusterRooms {
  const cluster = new ClusterView([...options.clusters.keys()]);
  const rooms = new Map(
    [...options.clusters].map(([number, own]) => [number, connect(number, { ...options, ...own }, cluster)]),
  );
  const [only] = rooms.values();
  if (rooms.size === 1 && only !== undefined) return { calls: only, cluster, restored: () => undefined };
  const { registry, log = silentLog } = options;
  const calls = new ClusterCalls({ ...options, clusters: rooms, view: cluster, book: bookOf(registry, log) });
  calls.watch(registry, options.timers);
  return { calls, cluster, restored: () => calls.restored() };
}

function bookOf(registry: ClusterRegistry, log: Log): ClusterBook {
  const bug = (error: unknown): void => {
    log.error({ reason: error instanceof Error ? error.stack : String(error) }, 'a call failed with an internal error');
  };
  return {
    locate: (tenant, id, found, failed) => void registry.locate(tenant, id).then(found, failed).catch(bug),
    session: (tenant, id, found) => {
      const session = registry.session(tenant, id).catch(() => undefined);
      session.then(found).catch(bug);
    },
    placed: (cluster) => void registry.placed(cluster).catch(() => undefined),
  };
}

function connect(number: number, options: SigningCallsOptions, cluster: ClusterView): SigningCalls {
  const log: Log = options.log ?? silentLog;
  const calls = new SigningCalls(options);
  options.link.listen({
    onMessage: ({ body }) => {
      if (body.case === 'callReply') calls.onReply(body.value);
      else if (body.case === 'clusterStatus') cluster.onStatus(body.value, number);
      else log.warn({ body: body.case }, 'a frame that is not for a gateway was dropped');
    },
    onStatus: (up) => {
      cluster.onLink(up, number);
      if (!up) calls.onLinkLost();
    },
  });
  return calls;
}
