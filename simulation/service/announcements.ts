/**
 * The announcements of a world with several clusters: each coordinator that is up announces its cluster every second, as a live
 * one does, and gateways read them when they place a key.
 */

import { Announcing, announceEveryMs } from '../../coordinator/store/announcing.ts';
import { silentLog } from '../../core/actors/live/ports.ts';
import { RedisClusters } from '../../core/redis/redis-clusters.ts';
import type { SimCluster } from '../cluster/cluster.ts';
import { nodeName } from '../cluster/processes.ts';
import type { MemoryRedis } from '../redis/memory-redis.ts';
import type { RunLoop } from './run-loop.ts';

/** An announcement takes no time: only its absence has an effect. Returns a function that counts a call to the cluster. */
export function announceForever(cluster: SimCluster, redis: MemoryRedis, loop: RunLoop): () => void {
  const { roster, time } = cluster;
  // No process connects to it: links are the world's.
  const url = `sim://${roster.clusterId}`;
  const announcing = new Announcing(new RedisClusters(redis.client()), roster, url, silentLog);
  const again = (): void => {
    const isUp = cluster.stateOf('coordinator') === 'up' && cluster.stateOf('redis') === 'up';
    if (isUp) {
      for (const { id } of roster.nodes) announcing.linked(id, cluster.isLinked(nodeName(id)));
      time.woken();
      announcing.announce().catch((error: unknown) => loop.failed(error));
    }
    time.after(announceEveryMs, again, true);
  };
  again();
  return () => announcing.called();
}
