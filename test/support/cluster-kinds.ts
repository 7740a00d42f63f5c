/** The clusters that tests of a run share, by name. Each starts when the first test asks for it. */
import { nodeWaits } from './busy-machine.ts';
import type { ClusterOptions } from './cluster.ts';

const kinds = {
  /** For tests that leave it alone, all at once (`sharedCluster`). */
  shared: () => ({
    environment: {
      // As `signmesh up` starts it for a person.
      SIGNMESH_FAULTS: 'on',
      // No test harms its nodes: what they do not answer in time they have had no CPU time for.
      SIGNMESH_NODES_WAIT_MS: '25000',
      SIGNMESH_PARTIAL_TIMEOUT_MS: '10000',
      SIGNMESH_CHAIN_BLOCK_MS: '100',
      SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: '100,200,400,800',
    },
  }),
  /** For tests that kill or hold its processes, one file after the other (`borrowCluster`). */
  borrowed: () => ({
    nodesApart: true,
    environment: {
      SIGNMESH_LOG_LEVEL: 'debug',
      ...nodeWaits(5_000, 300),
      SIGNMESH_CHAIN_BLOCK_MS: '100',
      SIGNMESH_SIMULATED_VENDOR_DECIDES_MS: '3000',
      SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: '100,200,400,800,1600,3200,3200,3200',
    },
  }),
} satisfies Readonly<Record<string, () => ClusterOptions>>;

export type ClusterKind = keyof typeof kinds;
export const clusterKinds = Object.keys(kinds) as readonly ClusterKind[];

/** As it is to start now. */
export function clusterOptions(kind: ClusterKind): ClusterOptions {
  return kinds[kind]();
}
