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

/** What a cluster says of itself. */
export interface ClusterState {
  /** ws://host:port of its coordinator. */
  readonly url: string;
  readonly nodesTotal: number;
  readonly nodesReady: number;
  /** Of a key that asks for neither. */
  readonly threshold: number;
  readonly keyNodes: number;
  /** Calls a second, lately. */
  readonly load: number;
}

export interface ClusterEntry extends ClusterState {
  readonly number: number;
  readonly clusterId: string;
  /** Since it announced itself last. */
  readonly silentMs: number;
  /** Keys that gateways have placed there so far. */
  readonly placed: number;
}

/** What a session's record says. Believe none of it: its MAC is its cluster's to check. Numbers of the contract's enums. */
export interface SessionFacts {
  readonly epoch: number;
  readonly state: number;
  readonly checkpointId: string;
  readonly checkpointMs: number;
  readonly approvalMode: number;
  readonly keystoreType: number;
  readonly correlationId: string;
}

/** What gateways read of clusters. All reject when the store does not answer. */
export interface ClusterRegistry {
  list(): Promise<readonly ClusterEntry[]>;
  /** Counts a key that was placed there; resolves to how many there are now. */
  placed(number: number): Promise<number>;
  /** The cluster of the session or key of this id; undefined: there is neither. */
  locate(tenant: string, id: string): Promise<number | undefined>;
  /** undefined: there is none. */
  session(tenant: string, sessionId: string): Promise<SessionFacts | undefined>;
}
