/** Metrics of a gateway beside those of its requests: calls to the coordinator, the cluster as it sees it, event streams. */
import type { MetricFamily, Metrics } from '../../core/telemetry/port.ts';
import type { ClusterView } from '../signing/cluster-view.ts';
import type { Calls } from '../signing/signing-calls.ts';

const calls: MetricFamily<never> = {
  name: 'signmesh_coordinator_calls_in_flight',
  help: 'Calls that wait for the coordinator.',
  labels: [],
};
const linked: MetricFamily<never> = {
  name: 'signmesh_coordinator_linked',
  help: '1 while this gateway has its link to the coordinator.',
  labels: [],
};
const health: MetricFamily<'health'> = {
  name: 'signmesh_health',
  help: '1 for the health that /v1/health answers, 0 for the others.',
  labels: ['health'],
};

export function measureGateway(
  metrics: Metrics,
  parts: {
    readonly calls: Pick<Calls, 'inFlight'>;
    readonly cluster: Pick<ClusterView, 'health' | 'coordinatorConnected'>;
  },
): void {
  metrics.gauge(calls, () => [{ labels: {}, value: parts.calls.inFlight }]);
  metrics.gauge(linked, () => [{ labels: {}, value: parts.cluster.coordinatorConnected ? 1 : 0 }]);
  metrics.gauge(health, () =>
    ['ok', 'degraded', 'unavailable'].map((name) => ({
      labels: { health: name },
      value: parts.cluster.health === name ? 1 : 0,
    })),
  );
}
