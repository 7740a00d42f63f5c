/**
 * Clusters that share one Redis: a cluster is one coordinator and its nodes. Sessions and keys belong to one cluster, whose
 * number their records name; the guards of intents, events and wallets belong to all.
 *
 * What a cluster has for itself (its fence, its sessions that end) has the cluster's number in its name. Cluster 1 has names
 * without a number: those that a Redis of one cluster has.
 */
import { tenantPrefix } from './event-log.ts';

/** The number of the cluster that a data directory of one cluster holds. */
export const firstCluster = 1;
/** A name that each cluster has for itself: "fence", and "fence:2" for cluster 2. */
export function ofCluster(name: string, cluster: number): string {
  return cluster === firstCluster ? name : `${name}:${cluster}`;
}

/** Hash: a session. */
export function sessionRecordKey(tenant: string, sessionId: string): string {
  return `${tenantPrefix(tenant)}session:${sessionId}`;
}

/** Text: the public side of a key, behind its MAC. */
export function keyRecordKey(tenant: string, keyId: string): string {
  return `${tenantPrefix(tenant)}key:${keyId}`;
}
