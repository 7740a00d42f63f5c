/**
 * Clusters that share one Redis: a cluster is one coordinator and its nodes. Sessions and keys belong to one cluster, whose
 * number their records name; all clusters share the guards of intents, the events and the wallets.
 *
 * Keys that belong to one cluster (its fence, its sessions that end) have its number in their names. Cluster 1 has names
 * without a number, as in a Redis with only one cluster.
 */
import { tenantPrefix } from './event-log.ts';

/** The number of the cluster in a data directory with one cluster. */
export const firstCluster = 1;
/** A name that is separate for each cluster: "fence", and "fence:2" for cluster 2. */
export function ofCluster(name: string, cluster: number): string {
  return cluster === firstCluster ? name : `${name}:${cluster}`;
}

/** Hash: a session. */
export function sessionRecordKey(tenant: string, sessionId: string): string {
  return `${tenantPrefix(tenant)}session:${sessionId}`;
}

/** Text: the MAC of a key's public record, then the record. */
export function keyRecordKey(tenant: string, keyId: string): string {
  return `${tenantPrefix(tenant)}key:${keyId}`;
}

/** The announcement of a cluster. */
export interface ClusterState {
  /** ws://host:port of its coordinator. */
  readonly url: string;
  readonly nodesTotal: number;
  readonly nodesReady: number;
  /** The default threshold of a key. */
  readonly threshold: number;
  readonly keyNodes: number;
  /** Calls a second, recently. */
  readonly load: number;
}

export interface ClusterEntry extends ClusterState {
  readonly number: number;
  readonly clusterId: string;
  /** Milliseconds since its last announcement. */
  readonly silentMs: number;
  /** Keys that gateways have placed there so far. */
  readonly placed: number;
}

/** The unverified content of a session's record: only its own cluster can check its MAC. Numbers of the contract's enums. */
export interface StoredSessionFacts {
  readonly epoch: number;
  readonly state: number;
  readonly checkpointId: string;
  readonly checkpointMs: number;
  readonly approvalMode: number;
  readonly keystoreType: number;
  readonly correlationId: string;
}

/** The gateways' view of clusters. All methods reject when the store does not answer. */
export interface ClusterRegistry {
  list(): Promise<readonly ClusterEntry[]>;
  /** Counts a key that was placed there; resolves to the new count. */
  placed(number: number): Promise<number>;
  /** The cluster of the session or key of this id; undefined: neither exists. */
  locate(tenant: string, id: string): Promise<number | undefined>;
  /** undefined: no such session. */
  session(tenant: string, sessionId: string): Promise<StoredSessionFacts | undefined>;
}
