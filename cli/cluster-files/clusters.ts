/** The clusters of a data directory: existing ones, and those that a person adds. */

import { firstCluster } from '../../core/redis/clusters.ts';
import { nodesMax } from '../../proto/limits.ts';
import type { ClusterEnvironment, Roster } from '../../proto/roster.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { atOnce, clusterMaterial, hasCluster, readRosters, type Steps } from './cluster-material.ts';

export interface ClustersWanted {
  /** undefined: the existing ones, or one. */
  readonly clusters: number | undefined;
  /** Of each; undefined: the existing number, or `nodesDefault` in a new one. */
  readonly nodes: number | undefined;
  readonly nodesDefault: number;
  readonly threshold: number | undefined;
  readonly environment: ClusterEnvironment;
}

/** As `clustersInSteps`, at once. */
export function ensureClusters(dataDir: string, wanted: ClustersWanted): readonly Roster[] {
  return atOnce(clustersInSteps(dataDir, wanted));
}

/**
 * Makes missing clusters. Added clusters get the requested nodes and threshold; existing ones keep theirs. Throws a Failure when
 * all exist and one has another size, and when more exist than requested.
 */
export function* clustersInSteps(dataDir: string, wanted: ClustersWanted): Steps<readonly Roster[]> {
  const { environment, nodesDefault, nodes, threshold } = wanted;
  const there = hasCluster(dataDir, firstCluster) ? readRosters(dataDir, environment).length : 0;
  const count = wanted.clusters ?? Math.max(1, there);
  if (threshold !== undefined && threshold > (nodes ?? nodesDefault) && there < count) {
    throw new Failure(
      `--threshold ${threshold} is more than the ${nodes ?? nodesDefault} nodes of a cluster. Choose a lower one, or more --nodes (up to ${nodesMax}).`,
      exitCodes.usage,
    );
  }
  if (count < there) {
    throw new Failure(
      `${dataDir} holds ${there} clusters, not ${count}: their nodes hold shares of keys. Leave --clusters out to keep them, or choose another --data-dir.`,
    );
  }
  const rosters: Roster[] = [];
  for (let cluster = 1; cluster <= count; cluster += 1) {
    const isKept = cluster <= there && there < count;
    const shape = { cluster, ...(!isKept && { threshold }) };
    rosters.push(yield* clusterMaterial(dataDir, isKept ? undefined : nodes, nodesDefault, environment, shape));
  }
  return rosters;
}
