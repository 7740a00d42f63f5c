/**
 * The roster: the members of a cluster, and the default sharing of its keys. Created once at set-up, pinned by every process
 * (`cluster.json` in the data directory), public. A roster that is not pinned protects only against an honest but curious
 * coordinator.
 */
import { createHash } from 'node:crypto';
import { clustersMax, defaultThreshold, defaultTotalNodes } from './limits.ts';

/** The number of nodes that share a key, and the number that sign. */
export interface Sharing {
  readonly threshold: number;
  readonly totalNodes: number;
}

export interface Roster {
  readonly clusterId: string;
  /** Its number among the clusters that share a Redis; absent: 1. */
  readonly number?: number;
  /** The id of cluster 1, if that is another. All clusters of an installation share its Redis. */
  readonly installation?: string;
  /** The default sharing of a key; absent: 3 of 5. */
  readonly sharing?: Sharing;
  /** Ascending by id, ids 1..n without gaps. Ed25519 public keys, 32 bytes. */
  readonly nodes: readonly { readonly id: number; readonly publicKey: Uint8Array }[];
  readonly coordinator: Uint8Array;
  /** All gateways of a cluster share one identity. */
  readonly gateway: Uint8Array;
}

/** The sharing of a key that requests no threshold and no number of nodes, in a cluster with this many nodes. */
export function defaultSharing(nodes: number): Sharing {
  return { threshold: Math.min(defaultThreshold, nodes), totalNodes: Math.min(defaultTotalNodes, nodes) };
}

/** A roster is pinned, and never changes: every DKG session uses its digest many times. */
const digests = new WeakMap<Roster, Uint8Array>();

/**
 * 32 bytes over the unique cluster id and every public key, in order. Bound into everything that nodes sign and seal.
 * Read-only.
 */
export function rosterDigest(roster: Roster): Uint8Array {
  let digest = digests.get(roster);
  if (digest === undefined) {
    digest = digestOf(roster);
    digests.set(roster, digest);
  }
  return digest;
}

function digestOf(roster: Roster): Uint8Array {
  const hash = createHash('sha256').update('signmesh/roster/v1\0').update(roster.clusterId).update('\0');
  hash.update(roster.coordinator).update(roster.gateway);
  for (const node of roster.nodes) {
    const id = Buffer.alloc(4);
    id.writeUInt32BE(node.id);
    hash.update(id).update(node.publicKey);
  }
  return hash.digest();
}

/** The environments of clusters; cluster.json stores one with the roster. */
export const clusterEnvironments = ['sandbox', 'production'] as const;
export type ClusterEnvironment = (typeof clusterEnvironments)[number];

/** The text of cluster.json. */
export function serializeRoster(roster: Roster, environment: ClusterEnvironment): string {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return `${JSON.stringify(
    {
      cluster_id: roster.clusterId,
      ...(roster.number !== undefined && { number: roster.number }),
      ...(roster.installation !== undefined && { installation: roster.installation }),
      ...(roster.sharing && { threshold: roster.sharing.threshold, total_nodes: roster.sharing.totalNodes }),
      environment,
      coordinator: hex(roster.coordinator),
      gateway: hex(roster.gateway),
      nodes: roster.nodes.map((node) => ({ id: node.id, public_key: hex(node.publicKey) })),
    },
    null,
    2,
  )}\n`;
}

/** The environment of a cluster.json. Throws an Error when the text names none. */
export function parseEnvironment(text: string): ClusterEnvironment {
  const { environment } = parseDocument(text);
  const known = clusterEnvironments.find((name) => name === environment);
  return known ?? fail('environment');
}

/** Throws an Error that names the field when the text is not a roster. */
export function parseRoster(text: string): Roster {
  const json = parseDocument(text);
  const key = (value: unknown, field: string): Uint8Array =>
    typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? Buffer.from(value, 'hex') : fail(field);
  if (typeof json.cluster_id !== 'string' || json.cluster_id === '') fail('cluster_id');
  if (!Array.isArray(json.nodes) || json.nodes.length === 0) fail('nodes');
  const nodes = (json.nodes as { id?: unknown; public_key?: unknown }[]).map((node, index) => {
    if (node?.id !== index + 1) fail(`nodes[${index}].id`);
    return { id: index + 1, publicKey: key(node.public_key, `nodes[${index}].public_key`) };
  });
  const whole = (value: unknown, min: number, max: number, field: string): number =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max ? Number(value) : fail(field);
  const { number, installation, threshold, total_nodes: totalNodes } = json;
  if (installation !== undefined && typeof installation !== 'string') fail('installation');
  return {
    clusterId: json.cluster_id as string,
    ...(number !== undefined && { number: whole(number, 1, clustersMax, 'number') }),
    ...(installation !== undefined && { installation: installation as string }),
    ...(threshold !== undefined && {
      sharing: {
        threshold: whole(threshold, 2, whole(totalNodes, 2, nodes.length, 'total_nodes'), 'threshold'),
        totalNodes: Number(totalNodes),
      },
    }),
    coordinator: key(json.coordinator, 'coordinator'),
    gateway: key(json.gateway, 'gateway'),
    nodes,
  };
}

function parseDocument(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === 'object' && json !== null) return json as Record<string, unknown>;
  } catch {
    // Reported below, as for any other text.
  }
  return fail('the document');
}

function fail(field: string): never {
  throw new Error(`cluster.json: ${field} is missing or malformed`);
}
