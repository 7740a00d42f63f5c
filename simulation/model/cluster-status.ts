/**
 * The status of the cluster that gateways get: one when their link comes up, and another at each change, so that the latest names
 * the linked nodes.
 */
import type { ClusterStatus } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Checker, Observation } from '../cluster/observation.ts';

/** The coordinator sends it in the step in which it learns of the link; of a dead node's link `linkNewsMs` late. */
export function statusTold(linkNewsMs: number): Checker {
  const settleMs = 50 + linkNewsMs;
  const linked = new Set<number>();
  let isGatewayLinked = false;
  let isCoordinatorUp = true;
  /** Of the latest status on the gateway's present link. */
  let told: string | undefined;
  let changedMs = 0;

  function change(atMs: number): void {
    changedMs = atMs;
  }

  function scan(atMs: number): string | undefined {
    if (!isGatewayLinked || !isCoordinatorUp || atMs - changedMs <= settleMs) return undefined;
    const now = [...linked].sort((a, b) => a - b).join();
    if (told === now) return undefined;
    return told === undefined
      ? 'the gateway is linked, and was told nothing of the cluster'
      : `the gateway was told that nodes ${told || 'none'} are ready, and linked are ${now || 'none'}`;
  }

  return {
    invariant: 'status-told',
    observe(observation: Observation) {
      const { atMs } = observation;
      switch (observation.kind) {
        case 'link': {
          const { peer, what } = observation;
          change(atMs);
          if (peer === 'gateway') {
            isGatewayLinked = what === 'linkUp';
            told = undefined;
          } else if (what === 'linkUp') linked.add(Number(peer.split('/')[1]));
          else linked.delete(Number(peer.split('/')[1]));
          return undefined;
        }
        case 'process': {
          const { process, what } = observation;
          if (process !== 'coordinator') return undefined;
          change(atMs);
          isCoordinatorUp = what === 'up' || what === 'resumed';
          if (what === 'down') {
            linked.clear();
            isGatewayLinked = false;
          }
          return undefined;
        }
        case 'frame': {
          const { body } = observation.envelope.message;
          if (body.case !== 'clusterStatus') return undefined;
          told = [...(body.value as ClusterStatus).nodesReady].sort((a, b) => a - b).join();
          return undefined;
        }
        default:
          return scan(atMs);
      }
    },
  };
}
