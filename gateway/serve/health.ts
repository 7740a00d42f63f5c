/**
 * GET /v1/health, for probes: no token, no rate limit. `unavailable` answers 503 with the same body, so that a probe
 * that reads only the status works; `degraded` can still sign and answers 200.
 */
import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { ClusterView, OneCluster } from '../signing/cluster-view.ts';
import { type Endpoint, jsonContentType } from './contract.ts';

export interface HealthDeps {
  readonly environment: ClusterEnvironment;
  readonly version: string;
  readonly cluster: ClusterView;
}

export function healthEndpoint(deps: HealthDeps): Endpoint {
  return {
    method: 'GET',
    path: '/v1/health',
    answersHead: true,
    run: async () => {
      const unavailable = deps.cluster.health === 'unavailable';
      return {
        status: unavailable ? 503 : 200,
        headers: { 'content-type': jsonContentType, ...(unavailable && { 'retry-after': '1' }) },
        body: JSON.stringify(healthBody(deps)),
      };
    },
  };
}

function healthBody({ environment, version, cluster }: HealthDeps) {
  const { clusters } = cluster;
  const statuses = clusters.flatMap(({ status }) => (status === undefined ? [] : [status]));
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  return {
    status: cluster.health,
    environment,
    version,
    coordinator: cluster.coordinatorConnected ? 'connected' : 'disconnected',
    session_store: statuses.some(({ storeReady }) => storeReady) ? 'ready' : 'unavailable',
    nodes_ready: sum(statuses.map(({ nodesReady }) => nodesReady.length)),
    nodes_total: sum(statuses.map(({ nodesTotal }) => nodesTotal)),
    quorum: statuses[0]?.quorum ?? 0,
    /** "native" or "js"; empty while no coordinator is connected. */
    crypto: statuses[0]?.cryptoBackend ?? '',
    /** Why `status` is not "ok": a sentence each. */
    reasons: cluster.reasons,
    ...(clusters.length > 1 && { clusters: clusters.map(clusterBody) }),
  };
}

function clusterBody({ number, health, isConnected, status }: OneCluster) {
  return {
    cluster: number,
    status: health,
    coordinator: isConnected ? 'connected' : 'disconnected',
    nodes_ready: status?.nodesReady.length ?? 0,
    nodes_total: status?.nodesTotal ?? 0,
    quorum: status?.quorum ?? 0,
  };
}
